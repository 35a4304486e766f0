// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

namespace holdfast::cli {

/// The number of a signal that a program may use for a purpose of its own, by its name, such as "TERM" or
/// "SIGTERM".
[[nodiscard]] std::optional<int> signal_named(std::string_view name) noexcept;

}  // namespace holdfast::cli
