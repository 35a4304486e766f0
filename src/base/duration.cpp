// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "holdfast/options.hpp"

namespace holdfast {

namespace {

using namespace std::chrono_literals;

struct unit {
  std::string_view name;
  duration length;
};

constexpr std::array<unit, 7> units{unit{"us", 1us},   unit{"ms", 1ms}, unit{"s", 1s}, unit{"m", 1min},
                                    unit{"min", 1min}, unit{"h", 1h},   unit{"d", 24h}};
constexpr duration longest = std::chrono::hours{24 * 365 * 100};
constexpr std::string_view number_characters = "0123456789.";

/// `1.5` of a unit, cut to whole microseconds; nothing where it is not a number, or too large.
std::optional<duration> product(std::string_view number, duration length) {
  const std::size_t point = std::min(number.find('.'), number.size());
  if (number.size() == (point < number.size() ? 1U : 0U)) return std::nullopt;
  duration sum{0};
  for (const char digit : number.substr(0, point)) {
    sum = sum * 10 + length * (digit - '0');
    if (sum > longest) return std::nullopt;
  }
  if (point == number.size()) return sum;
  for (const char digit : number.substr(point + 1)) {
    if (digit == '.') return std::nullopt;
    length /= 10;
    sum += length * (digit - '0');
  }
  return sum;
}

/// Takes a number and its unit off the front of `text`.
std::optional<duration> take_part(std::string_view& text) {
  const auto number = text.substr(0, text.find_first_not_of(number_characters));
  text.remove_prefix(number.size());
  const auto name = text.substr(0, text.find_first_of(number_characters));
  text.remove_prefix(name.size());
  const auto* const found =
      std::find_if(units.begin(), units.end(), [&](const unit& u) { return u.name == name; });
  return found == units.end() ? std::nullopt : product(number, found->length);
}

}  // namespace

std::optional<duration> parse_duration(std::string_view text) noexcept {
  if (text.empty()) return std::nullopt;
  // A number without a unit stands alone: 1h30 may be an hour and a half, or an hour and thirty seconds.
  if (text.find_first_not_of(number_characters) == std::string_view::npos) {
    const auto seconds = product(text, 1s);
    return seconds && *seconds <= longest ? seconds : std::nullopt;
  }
  duration sum{0};
  while (!text.empty()) {
    const auto part = take_part(text);
    if (!part) return std::nullopt;
    sum += *part;
    if (sum > longest) return std::nullopt;
  }
  return sum;
}

}  // namespace holdfast
