#include "store.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fmt/core.h>
#include <fstream>
#include <utility>

#include "failure.hpp"

namespace holdfast::cli {

std::string url_of(const store_choice& choice) { return choice.url.empty() ? default_store() : choice.url; }

bool is_default(const store_choice& choice) {
  const char* given = std::getenv("HOLDFAST_STORE");
  return choice.url.empty() && (given == nullptr || *given == '\0');
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

client open_client(const store_choice& choice, client_options options) {
  if (auto secret = password_of(choice); !secret.empty()) options.password(std::move(secret));
  return client{url_of(choice), std::move(options)};
}

}  // namespace holdfast::cli
