// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace holdfast {

/// As one word for a shell of POSIX.
[[nodiscard]] std::string word_for_shell(std::string_view text);

}  // namespace holdfast
