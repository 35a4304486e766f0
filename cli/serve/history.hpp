// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "output/json.hpp"
#include "serve/snapshot.hpp"

namespace holdfast::cli {

/// The hand-overs of names that `serve` has seen: of each name the last ones, and of all names together no
/// more than memory is meant for. What happens between two readings is not seen.
class hand_over_history {
 public:
  static constexpr std::size_t most_of_a_name = 200;
  static constexpr std::size_t most = 10'000;

  /// \param before, now two snapshots, one after the other.
  /// \return the names that somebody else holds, or again.
  std::vector<std::string> update(const snapshot& before, const snapshot& now);
  /// Oldest first; null: nothing was seen of the name.
  [[nodiscard]] json describe(const std::string& name, boot_clock::time_point now) const;
  [[nodiscard]] std::size_t size() const noexcept { return order_.size(); }

 private:
  struct hold {
    std::uint64_t number;
    lock_summary lock;  // when it was first seen
    boot_clock::time_point began;
    std::optional<boot_clock::time_point> ended;
  };
  void begin(const lock_summary& lock, boot_clock::time_point when);
  void end(const std::string& name, boot_clock::time_point when);
  void forget_first(const std::string& name);

  std::map<std::string, std::deque<hold>, std::less<>> holds_;
  std::map<std::uint64_t, std::string> order_;  // the names of all holds, by their numbers
  std::uint64_t next_number_ = 0;
};

}  // namespace holdfast::cli
