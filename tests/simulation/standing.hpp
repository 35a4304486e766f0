// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/owner_id.hpp"
#include "core/machine.hpp"
#include "simulation/randomness.hpp"

namespace holdfast::sim {

/// The names that a world's clients contend for: locks, then semaphores.
inline constexpr std::size_t locks = 2;
inline constexpr std::size_t semaphores = 1;
inline constexpr std::size_t names = locks + semaphores;
inline constexpr std::int64_t permits_in_all = 3;
/// The lock that is an election, too, in some worlds.
inline constexpr std::size_t election_name = 1;

/// No claim asks for more.
inline constexpr duration longest_ttl = std::chrono::seconds{3};
/// What users ask for.
inline constexpr auto usual_ttls = std::to_array<duration>(
    {std::chrono::milliseconds{600}, std::chrono::seconds{1}, std::chrono::seconds{2}, longest_ttl});

[[nodiscard]] inline std::string name_of(std::size_t index) {
  constexpr auto kinds = std::to_array<std::string_view>({"stock/sku-", "stock/sku-", "slots/"});
  return std::string{kinds.at(index)} + std::to_string(index);
}
[[nodiscard]] inline std::size_t index_of(const std::string& name) {
  return static_cast<std::size_t>(name.back() - '0');
}
[[nodiscard]] inline std::int64_t capacity_of(std::size_t index) {
  constexpr auto each =
      std::to_array<std::int64_t>({store::full_capacity, store::full_capacity, permits_in_all});
  return each.at(index);
}

[[nodiscard]] owner_id drawn(randomness& chance);

/// A claim as it stands at the store.
struct standing {
  std::size_t name = 0;
  owner_id owner;
  std::uint64_t token = 0;
  std::int64_t weight = 0;
  std::int64_t expires = 0;  // microseconds of the store's clock; dead from then on
  bool granted = false;

  friend bool operator==(const standing&, const standing&) = default;
};

/// The claims of a name, as the store tells everybody who asks.
/// \param now microseconds of the store's clock.
void append_standings(std::size_t name, const std::optional<lock_state>& state, std::int64_t now,
                      std::vector<standing>& all);

}  // namespace holdfast::sim
