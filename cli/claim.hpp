#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <holdfast/client.hpp>

namespace holdfast::cli {

/// The claim of `run`, from its options.
struct claim {
  std::string name;
  holdfast::mode mode = holdfast::mode::exclusive;
  std::int64_t permits = 1;
  std::int64_t capacity = 0;     ///< for permits
  std::optional<duration> wait;  ///< empty: as long as it takes; zero: ask once
  std::optional<duration> ttl;
  std::string label;
};

/// Empty for any other text.
[[nodiscard]] std::optional<std::int64_t> positive_number(std::string_view text);

/// Reads `n/of`. \throws failure
void set_permits(claim& wish, std::string_view text);

/// Blocks until it is granted or the wait is over; empty when it is not granted in time.
[[nodiscard]] std::optional<lease> acquire(client& locks, const claim& wish);

}  // namespace holdfast::cli
