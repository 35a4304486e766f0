// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::cli {

/// The text without its percent-escapes; empty if one of them is broken.
[[nodiscard]] std::optional<std::string> decoded(std::string_view text);

}  // namespace holdfast::cli
