// SPDX-License-Identifier: Apache-2.0
#include "serve/secret.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

#include "descriptor.hpp"
#include "failure.hpp"

namespace holdfast::cli {

namespace {

failure cannot_read(const std::string& path, int code) {
  if (code == ELOOP)
    return {bad_usage, fmt::format("the secret file '{}' is a symbolic link: name the file itself", path)};
  return {code == EACCES ? permission_denied : bad_usage,
          fmt::format("cannot read the secret file '{}': {}", path, std::strerror(code))};
}

/// Whether systemd has put the file there, in a folder that the service's user alone may enter.
bool is_credential(const std::filesystem::path& path) {
  const char* const given = std::getenv("CREDENTIALS_DIRECTORY");
  const std::filesystem::path folder{given == nullptr ? "" : given};
  return folder.is_absolute() && folder / path.filename() == path;
}

/// systemd gives root's file to the service's user by an entry of an ACL. Its mask then shows as the rights
/// of the group, which has none.
mode_t forbidden_rights(const std::string& path) {
  return is_credential(path) ? S_IRWXO | S_IWGRP | S_IXGRP : S_IRWXO | S_IRWXG;
}

void check_owner(const std::string& path, const struct stat& file) {
  if (!S_ISREG(file.st_mode))
    throw failure{bad_usage, fmt::format("the secret file '{}' is not a regular file", path)};
  if (file.st_uid != ::geteuid() && file.st_uid != 0)
    throw failure{permission_denied, fmt::format("the secret file '{}' belongs to another user", path)};
  if ((file.st_mode & forbidden_rights(path)) != 0)
    throw failure{permission_denied,
                  fmt::format("other users may use the secret file '{0}': chmod 600 '{0}'", path)};
}

}  // namespace

release_secret::release_secret(const std::string& path) {
  // Without waiting for a writer, should it be a pipe.
  const descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
  if (!file) throw cannot_read(path, errno);
  struct stat status{};
  checked(::fstat(file.get(), &status), "fstat");
  check_owner(path, status);
  std::array<char, longest + 2> content{};
  const auto count = ::read(file.get(), content.data(), content.size());
  if (count < 0) throw cannot_read(path, errno);
  const std::string_view all{content.data(), static_cast<std::size_t>(count)};
  std::string_view line = all.substr(0, all.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  const bool is_readable = std::ranges::all_of(line, [](char each) { return each > ' ' && each < 0x7f; });
  if (line.size() < shortest || line.size() > longest || !is_readable) {
    throw failure{bad_usage,
                  fmt::format("the first line of the secret file '{}' must have {} to {} printable ASCII "
                              "characters without blanks, such as those of: openssl rand -hex 32",
                              path, shortest, longest)};
  }
  text_ = line;
}

bool release_secret::matches(std::string_view given) const noexcept {
  return !text_.empty() && given.size() == text_.size() &&
         CRYPTO_memcmp(given.data(), text_.data(), text_.size()) == 0;
}

}  // namespace holdfast::cli
