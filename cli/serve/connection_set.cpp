#include "serve/connection_set.hpp"

#include <algorithm>

namespace holdfast::cli {

bool connection_set::make_room() {
  if (all_.size() < most) return true;
  std::shared_ptr<connection> oldest;
  for (const auto& each : all_) {
    const auto since = each->idle_since();
    if (since && (!oldest || *since < *oldest->idle_since())) oldest = each;
  }
  if (!oldest) return false;
  oldest->close();
  remove(oldest);
  return true;
}

bool connection_set::has_room_for_stream() const {
  return static_cast<std::size_t>(
             std::ranges::count_if(all_, [](const auto& each) { return each->is_stream(); })) < most_streams;
}

void connection_set::wake_streams() {
  const auto now = all_;  // one that fails takes itself out
  for (const auto& each : now) each->wake();
}

void connection_set::close_all() {
  const auto now = all_;
  for (const auto& each : now) each->close();
  all_.clear();
}

}  // namespace holdfast::cli
