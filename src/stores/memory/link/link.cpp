#include "stores/memory/link/link.hpp"

#include <chrono>

namespace holdfast::memory {

link::link(runtime::event_loop& on, const std::string& name)
    : batching_link{on}, shelf_{shelf::named(name)}, watchers_{on} {
  shelf_->join(client_, {[this](const std::vector<memory::word>& told) {
                           std::vector<word> words;
                           words.reserve(told.size());
                           for (const auto& w : told) words.push_back({w.owner, w.what});
                           say_now(words);
                         },
                         [this] { watchers_.ring(); }});
  start();
}

void link::shut() {
  batching_link::shut();
  shelf_->leave(client_);
}

std::shared_ptr<void> link::watch(std::function<void()> changed) { return watchers_.add(std::move(changed)); }

bool link::execute(std::vector<job>& batch, bool) {
  shelf_->with_table([&](table& t, std::vector<memory::word>& words) {
    const auto now = boot_clock::now();
    const std::int64_t wall_us = std::chrono::duration_cast<std::chrono::microseconds>(
                                     std::chrono::system_clock::now().time_since_epoch())
                                     .count();
    for (job& j : batch) j.result = t.carry_out(j.request, client_, now, wall_us, words);
  });
  return true;
}

}  // namespace holdfast::memory
