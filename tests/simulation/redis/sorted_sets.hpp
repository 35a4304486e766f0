#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "simulation/redis/command.hpp"

namespace holdfast::sim {

using scored_members = decltype(sorted_set_value::members);

/// Scores from here to there, as the commands say it: "(1" without the end itself, "-inf".
struct score_range {
  double min = 0;
  double max = 0;
  bool without_min = false;
  bool without_max = false;

  [[nodiscard]] static std::optional<score_range> in(std::string_view min, std::string_view max);
};

/// Half-open places in the order of the set.
struct places {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  [[nodiscard]] static places of(const scored_members& all, const score_range& range);
  /// By rank, where -1 is the last.
  [[nodiscard]] static places of_ranks(const scored_members& all, std::int64_t first, std::int64_t last);
  [[nodiscard]] std::int64_t size() const { return std::max<std::int64_t>(end - begin, 0); }
};

/// What a command that reads sees: nothing, where there is no such key. Null after a wrong type.
const scored_members* members_at(call& c, std::string_view key);
std::size_t index_of(const scored_members& all, std::string_view member);

/// Adds a member and its score to the reply, in a pair of their own where `pairs` says so.
void add_scored(call& c, const sorted_set_value::scored& member, bool pairs);

/// ZRANGE and its older sisters.
std::span<const command> sorted_set_range_commands();

}  // namespace holdfast::sim
