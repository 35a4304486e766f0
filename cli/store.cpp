// SPDX-License-Identifier: Apache-2.0
#include "store.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <system_error>
#include <utility>

#include "failure.hpp"
#include "output/text.hpp"

namespace holdfast::cli {

std::string url_of(const store_choice& choice) { return choice.url.empty() ? default_store() : choice.url; }

bool is_default(const store_choice& choice) {
  const char* given = std::getenv("HOLDFAST_STORE");
  return choice.url.empty() && (given == nullptr || *given == '\0');
}

std::string note_of_default(const store_choice& choice) {
  if (!is_default(choice)) return {};
  return fmt::format(" on {} (the default store, a file of this user: HOLDFAST_STORE is not set)",
                     printable(url_of(choice)));
}

std::string password_of(const store_choice& choice) {
  if (choice.password_file.empty()) {
    const char* given = std::getenv("HOLDFAST_PASSWORD");
    return given == nullptr ? "" : given;
  }
  std::ifstream file{choice.password_file};
  if (!file) {
    const int code = errno;
    throw failure{
        code == EACCES ? permission_denied : bad_usage,
        fmt::format("cannot read the password file '{}': {}", choice.password_file, std::strerror(code))};
  }
  std::string secret;
  std::getline(file, secret);  // without the line feed that editors append
  if (file.bad()) {
    throw failure{bad_usage, fmt::format("cannot read the password file '{}': {}", choice.password_file,
                                         std::strerror(errno))};
  }
  if (secret.ends_with('\r')) secret.pop_back();
  if (secret.empty()) {
    throw failure{bad_usage,
                  fmt::format("the first line of the password file '{}' is empty", choice.password_file)};
  }
  return secret;
}

void give_password(const store_choice& choice, client_options& options) {
  auto secret = password_of(choice);  // a mistake is reported at once
  std::error_code unknown;
  // A pipe, such as <(pass show db), can be read once.
  if (std::filesystem::is_regular_file(choice.password_file, unknown)) {
    options.password([choice] { return password_of(choice); });
  } else {
    options.password(std::move(secret));
  }
}

client open_client(const store_choice& choice, client_options options) {
  give_password(choice, options);
  return client{url_of(choice), std::move(options)};
}

}  // namespace holdfast::cli
