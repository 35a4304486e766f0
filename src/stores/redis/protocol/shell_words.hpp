#pragma once

#include <string>
#include <string_view>

namespace holdfast::redis {

/// As one word for a shell of POSIX.
[[nodiscard]] std::string word_for_shell(std::string_view text);

/// A side key likewise. A terminal takes no control character, so printf writes the one of the key.
[[nodiscard]] std::string key_for_shell(std::string_view key);

}  // namespace holdfast::redis
