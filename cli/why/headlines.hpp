// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <holdfast/client.hpp>

namespace holdfast::cli {

/// What a table of locks does not show, for people, a line each: why the store grants nothing to anybody, and
/// deadlocks.
///
/// Asks for the first name that nobody holds and somebody waits for.
/// \param locks all of the store. \throws holdfast::error as client::inspect.
[[nodiscard]] std::optional<std::string> pause_headline(const client& store,
                                                        const std::vector<lock_summary>& locks);
/// Reads all queues, unless there are many.
/// \param locks all of the store. \throws holdfast::error as client::list and client::inspect.
[[nodiscard]] std::vector<std::string> deadlock_headlines(const client& store,
                                                          const std::vector<lock_summary>& locks);

}  // namespace holdfast::cli
