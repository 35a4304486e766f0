// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace holdfast::cli {

/// A lock of another store, `--also URL:NAME`.
struct also_choice {
  std::string url;
  std::string name;
};

/// Takes the text apart at its last colon, and the name's percent-escapes out.
/// \throws failure if it has no name, or a port where the name should be; the text may hold a password.
[[nodiscard]] also_choice also_of(std::string_view text);

}  // namespace holdfast::cli
