// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/client.hpp>
#include <holdfast/lease_set.hpp>
#include <holdfast/lock_spec.hpp>

namespace holdfast::cli {

/// The claim of `run`, from its options.
struct claim {
  std::string name;
  holdfast::mode mode = holdfast::mode::exclusive;
  std::int64_t permits = 1;
  std::int64_t capacity = 0;      ///< for permits
  std::vector<lock_spec> others;  ///< names to lock with it
  std::optional<duration> wait;   ///< empty: as long as it takes; zero: ask once
  std::optional<duration> ttl;
  std::optional<duration> grace;     ///< see lock_options
  std::optional<duration> at_least;  ///< see lock_options
  std::string label;
  bool election = false;  ///< to lead
  std::string store;      ///< its URL without secrets, for messages of a command that uses several stores
};

/// Empty for any other text.
[[nodiscard]] std::optional<std::int64_t> positive_number(std::string_view text);

/// Reads `n/of`. \throws failure
void set_permits(claim& wish, std::string_view text);

/// All of its names: the one that the command line begins with, then the others.
[[nodiscard]] std::vector<lock_spec> names_of(const claim& wish);
/// \throws failure for a name that comes twice.
void require_distinct_names(const claim& wish);
/// `the lock 'a'`, or `the locks 'a', 'b' and 'c'`, each with ` of redis://host` if the claim has a store;
/// fit for a terminal.
[[nodiscard]] std::string locks_text(const claim& wish);

/// Its lock options.
[[nodiscard]] lock_options options_of(const claim& wish);
/// Blocks until it is granted or the wait is over; empty when it is not granted in time.
[[nodiscard]] std::optional<lease_set> acquire(client& locks, const claim& wish);

}  // namespace holdfast::cli
