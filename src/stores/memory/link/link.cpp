// SPDX-License-Identifier: Apache-2.0
#include "stores/memory/link/link.hpp"

#include <chrono>
#include <utility>
#include <variant>

namespace holdfast::memory {

namespace {

/// Whether others see another state of the name than before, apart from grants, which are notified. A claim
/// that is kept is no change.
bool is_change(const tickets::request& carried_out, const tickets::reply& reply) {
  if (const auto* const holds = std::get_if<tickets::count>(&reply)) return holds->value != 0;
  const bool is_new = std::holds_alternative<tickets::acquire>(carried_out);
  return std::holds_alternative<tickets::done>(reply) ||
         (is_new && std::holds_alternative<tickets::place>(reply));
}

}  // namespace

link::link(runtime::event_loop& on, const std::string& name)
    : batching_link{on}, table_{shared_table::named(name)}, watchers_{on} {
  table_->join(client_,
               {[this](const std::vector<store::notification>& notifications) { deliver(notifications); },
                [this](const std::vector<std::string>& names) {
                  if (!is_watched_) return;
                  const runtime::core_lock now{owner()};
                  watchers_.ring_for(names);
                }});
  try {
    start();
  } catch (...) {  // the destructor does not run, and others of this name go on
    table_->leave(client_);
    throw;
  }
}

void link::shut() {
  batching_link::shut();
  table_->leave(client_);
}

std::shared_ptr<void> link::watch(store::watched target, std::function<void()> changed) {
  is_watched_ = true;
  table_->watch();
  return watchers_.add(target, std::move(changed));
}

bool link::execute(std::vector<job>& batch, bool) noexcept {
  table_->with_table([&](table& t, shared_table::effects& of) {
    const auto now = boot_clock::now();
    const std::int64_t wall_us = std::chrono::duration_cast<std::chrono::microseconds>(
                                     std::chrono::system_clock::now().time_since_epoch())
                                     .count();
    for (job& j : batch) {
      const std::size_t granted_before = of.notifications.size();
      tickets::reply reply = t.carry_out(j.request, client_, now, wall_us, of.notifications);
      const bool has_changed = is_change(j.request, reply) || of.notifications.size() != granted_before;
      if (has_changed && table_->is_watched()) of.changed.emplace_back(name_of(j.request));
      j.result = std::move(reply);
    }
  });
  return true;
}

}  // namespace holdfast::memory
