#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/claim.hpp"

namespace holdfast::quorum {

/// Numbers claims by the servers' clocks, so that those who come first have the smaller number, whichever
/// client they are of. A client's own wall clock plays no part.
class place_in_time {
 public:
  explicit place_in_time(std::size_t servers) : offsets_(servers) {}

  /// \param clock what a server's clock said between `sent` and now.
  void hear(std::size_t server, std::chrono::microseconds clock, store::time_point sent) {
    offsets_.at(server) = clock - since_boot(sent);
  }
  /// Whether a majority of the clocks is known.
  [[nodiscard]] bool is_known() const {
    return static_cast<std::size_t>(std::count_if(offsets_.begin(), offsets_.end(), [](const auto& each) {
             return each.has_value();
           })) > offsets_.size() / 2;
  }
  /// Above all numbers before. A minority of clocks that are wrong moves it no further than the others are
  /// apart. \pre is_known.
  [[nodiscard]] fencing_token next(store::time_point now) {
    std::vector<std::chrono::microseconds> known;
    for (const auto& each : offsets_)
      if (each) known.push_back(*each);
    const auto middle = known.begin() + static_cast<std::ptrdiff_t>((known.size() - 1) / 2);
    std::nth_element(known.begin(), middle, known.end());
    const auto estimate = since_boot(now) + *middle + ahead;
    last_ = std::max<std::uint64_t>(last_ + 1,
                                    static_cast<std::uint64_t>(std::max<std::int64_t>(estimate.count(), 1)));
    return fencing_token{last_};
  }

 private:
  static std::chrono::microseconds since_boot(store::time_point t) {
    return std::chrono::floor<std::chrono::microseconds>(t.time_since_epoch());
  }
  /// A server that has forgotten its tokens accepts none that is not above its clock when the claim comes.
  static constexpr std::chrono::microseconds ahead{20'000};

  std::vector<std::optional<std::chrono::microseconds>> offsets_;
  std::uint64_t last_ = 0;
};

}  // namespace holdfast::quorum
