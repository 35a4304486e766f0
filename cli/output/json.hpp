// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

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

/// Host, process id and program; null is the process id of another library's claim.
[[nodiscard]] json describe_process(const claimant& process);
[[nodiscard]] json describe(const claim_state& claim);
[[nodiscard]] json describe(const lock_state& lock);
[[nodiscard]] json describe(const lock_summary& lock);

/// On one line. Pure ASCII: names and labels of other users cannot reach a terminal as escape sequences, and
/// bytes that are not UTF-8 cannot make the line unreadable.
[[nodiscard]] std::string dumped(const json& object);
/// As a list, up to a length; empty: it is longer, and is not made to its end.
[[nodiscard]] std::optional<std::string> dumped(const std::vector<std::string>& texts,
                                                std::size_t most_bytes);
/// One object, flushed.
void print_line(const json& object, std::FILE* where = stdout);

}  // namespace holdfast::cli
