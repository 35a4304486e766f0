#pragma once

#include <string_view>

namespace holdfast::sim {

/// Whether a key matches a pattern of SCAN: * ? [a-c] [^a] and \ before any of them.
[[nodiscard]] bool matches(std::string_view pattern, std::string_view text);

}  // namespace holdfast::sim
