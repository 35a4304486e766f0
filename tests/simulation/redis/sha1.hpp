// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace holdfast::sim {

/// The name under which the server knows a script: 40 lower-case hexadecimal digits (FIPS 180-4).
[[nodiscard]] std::string sha1_hex(std::string_view text);

}  // namespace holdfast::sim
