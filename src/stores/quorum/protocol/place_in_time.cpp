// SPDX-License-Identifier: Apache-2.0
#include "stores/quorum/protocol/place_in_time.hpp"

#include <algorithm>

namespace holdfast::quorum {

using std::chrono::microseconds;

namespace {

using namespace std::chrono_literals;

/// A server that has forgotten its tokens accepts none that is not above its clock when the claim comes.
constexpr microseconds ahead = 20ms;
/// Clocks drift apart: an older sample says less than any other.
constexpr duration sample_life = 10s;

microseconds since_boot(store::time_point t) {
  return std::chrono::floor<microseconds>(t.time_since_epoch());
}

}  // namespace

void place_in_time::hear(std::size_t server, microseconds clock, store::time_point sent,
                         store::time_point now) {
  const sample fresh{clock - since_boot(now), now};
  std::optional<sample>& known = samples_.at(server);
  const bool was_set_back = known && clock - since_boot(sent) < known->offset;
  const bool is_old = known && now - known->taken > sample_life;
  if (!known || was_set_back || is_old || fresh.offset >= known->offset) known = fresh;
}

bool place_in_time::is_known() const {
  const auto known =
      std::count_if(samples_.begin(), samples_.end(), [](const auto& each) { return each.has_value(); });
  return static_cast<std::size_t>(known) > samples_.size() / 2;
}

fencing_token place_in_time::next(store::time_point now) {
  std::vector<microseconds> offsets;
  for (const auto& each : samples_)
    if (each) offsets.push_back(each->offset);
  const auto middle = offsets.begin() + static_cast<std::ptrdiff_t>((offsets.size() - 1) / 2);
  std::nth_element(offsets.begin(), middle, offsets.end());
  const microseconds estimate = since_boot(now) + *middle + ahead;
  last_ = std::max(last_ + 1, static_cast<std::uint64_t>(std::max<std::int64_t>(estimate.count(), 1)));
  return fencing_token{last_};
}

}  // namespace holdfast::quorum
