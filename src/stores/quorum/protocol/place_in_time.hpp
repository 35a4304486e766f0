// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/claim.hpp"

namespace holdfast::quorum {

/// Numbers claims by the servers' clocks, so that those who come first have the smaller number, whichever
/// client they are of. A client's own wall clock plays no part.
///
/// A server's clock is at least what its last answer said. The answer that took the shortest way back says
/// most. How long the request was under way plays no part: it may have waited for the connection.
class place_in_time {
 public:
  explicit place_in_time(std::size_t servers) : samples_(servers) {}

  /// \param clock what a server's clock said between `sent` and `now`.
  void hear(std::size_t server, std::chrono::microseconds clock, store::time_point sent,
            store::time_point now);
  /// Whether a majority of the clocks is known.
  [[nodiscard]] bool is_known() const;
  /// Above all numbers before. A minority of clocks that are wrong moves it no further than the others are
  /// apart. \pre is_known.
  [[nodiscard]] fencing_token next(store::time_point now);
  /// What `next` has returned last; zero: nothing yet.
  [[nodiscard]] fencing_token last() const { return fencing_token{last_}; }

 private:
  struct sample {
    std::chrono::microseconds offset{};  // of the server's clock from ours, at least
    store::time_point taken;
  };
  std::vector<std::optional<sample>> samples_;
  std::uint64_t last_ = 0;
};

}  // namespace holdfast::quorum
