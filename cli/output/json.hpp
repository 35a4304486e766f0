#pragma once

#include <chrono>
#include <cstdio>

#include <nlohmann/json.hpp>

#include <holdfast/state.hpp>

namespace holdfast::cli {

/// Keeps its members in the order of insertion.
using json = nlohmann::ordered_json;

/// Durations appear as seconds in members whose names end in `_s`.
template <class Rep, class Period>
[[nodiscard]] double to_seconds(std::chrono::duration<Rep, Period> length) {
  return std::chrono::duration<double>{length}.count();
}

[[nodiscard]] json describe(const claim_state& claim);
[[nodiscard]] json describe(const lock_state& lock);
[[nodiscard]] json describe(const lock_summary& lock);

/// One object, one line, flushed. Pure ASCII: names and labels of other users cannot reach a terminal as
/// escape sequences, and bytes that are not UTF-8 cannot make the line unreadable.
void print_line(const json& object, std::FILE* where = stdout);

}  // namespace holdfast::cli
