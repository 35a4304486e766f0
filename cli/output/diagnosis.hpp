// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "output/json.hpp"
#include <holdfast/diagnosis.hpp>

namespace holdfast::cli {

/// "kept", "unknown", "warning" or "broken".
[[nodiscard]] std::string_view name_of(finding::grade of);
[[nodiscard]] finding::grade worst_of(const std::vector<finding>& all);
/// What `doctor --json` prints.
[[nodiscard]] json describe(const std::vector<finding>& all);

}  // namespace holdfast::cli
