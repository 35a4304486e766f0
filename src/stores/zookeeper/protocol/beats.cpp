#include "stores/zookeeper/protocol/beats.hpp"

#include <algorithm>

namespace holdfast::zookeeper {

using store::time_point;

std::size_t beats::in_flight() const {
  const auto count = std::count_if(all_.begin(), all_.end(), [](const beat& b) { return !b.answered; });
  return static_cast<std::size_t>(count);
}

std::uint64_t beats::sent(time_point now) {
  all_.push_back({++last_number_, now, {}, {}});
  return last_number_;
}

std::optional<time_point> beats::answered(std::uint64_t number, time_point now, duration half_a_tick) {
  const auto third =
      std::find_if(all_.begin(), all_.end(), [number](const beat& b) { return b.number == number; });
  if (third == all_.end()) return std::nullopt;  // of a former connection
  third->answered = now;
  std::optional<time_point> proven;
  for (auto earlier = all_.begin(); earlier != third; ++earlier) {
    if (!earlier->answered) continue;
    if (*earlier->answered + half_a_tick <= third->sent) third->second_to = earlier->sent;
    if (earlier->second_to && *earlier->answered <= third->sent) proven = earlier->second_to;
  }
  // Older beats prove nothing new.
  if (proven) std::erase_if(all_, [&](const beat& b) { return b.sent < *proven; });
  return proven;
}

}  // namespace holdfast::zookeeper
