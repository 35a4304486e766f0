// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <holdfast/client.hpp>

namespace holdfast::cli {

/// The choice of a store, which all subcommands with a store share.
struct store_choice {
  std::string url;            ///< empty: HOLDFAST_STORE, else the embedded default
  std::string password_file;  ///< empty: HOLDFAST_PASSWORD, else the URL's
  bool json = false;
};

/// Whether no store was chosen.
[[nodiscard]] bool is_default(const store_choice& choice);
/// ` on sqlite: (the default store, a file of this user: HOLDFAST_STORE is not set)`, for a message that a
/// name is free; empty where a store was chosen. Whoever looks over ssh or sudo may look at a store of that
/// user alone.
[[nodiscard]] std::string note_of_default(const store_choice& choice);
/// The store's URL, its password not masked: for the library only.
[[nodiscard]] std::string url_of(const store_choice& choice);
/// Empty if no password is given beside the URL.
/// \throws failure when the file cannot be read or is empty.
[[nodiscard]] std::string password_of(const store_choice& choice);

/// Gives the options the password, if there is one beside the URL. A file is read anew at each login, so that
/// a password may be replaced while a client lives. \throws as password_of.
void give_password(const store_choice& choice, client_options& options);

/// Opens the chosen store.
[[nodiscard]] client open_client(const store_choice& choice, client_options options = {});

}  // namespace holdfast::cli
