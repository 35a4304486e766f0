#include "stores/memory/link/link.hpp"

#include <chrono>

namespace holdfast::memory {

link::link(runtime::event_loop& on, const std::string& name)
    : batching_link{on}, table_{shared_table::named(name)}, watchers_{on} {
  table_->join(client_,
               {[this](const std::vector<store::notification>& notifications) { deliver(notifications); },
                [this] { watchers_.ring(); }});
  start();
}

void link::shut() {
  batching_link::shut();
  table_->leave(client_);
}

std::shared_ptr<void> link::watch(std::function<void()> changed) { return watchers_.add(std::move(changed)); }

bool link::execute(std::vector<job>& batch, bool) {
  table_->with_table([&](table& t, std::vector<store::client_notification>& notifications) {
    const auto now = boot_clock::now();
    const std::int64_t wall_us = std::chrono::duration_cast<std::chrono::microseconds>(
                                     std::chrono::system_clock::now().time_since_epoch())
                                     .count();
    for (job& j : batch) j.result = t.carry_out(j.request, client_, now, wall_us, notifications);
  });
  return true;
}

}  // namespace holdfast::memory
