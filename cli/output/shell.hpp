// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace holdfast::cli {

/// A text as one argument of a shell's command line.
[[nodiscard]] std::string in_shell(std::string_view text);

/// The options with which a command reaches a store from any folder, each with a blank behind it.
/// \param url the store's, its password masked: it is to be given beside the URL. Empty: none. The path of an
/// SQLite file is made absolute; those among the options stay as they are.
/// \param password_file empty: none.
[[nodiscard]] std::string store_options(const std::string& url, const std::string& password_file);

}  // namespace holdfast::cli
