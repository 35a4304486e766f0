// SPDX-License-Identifier: Apache-2.0
#include "support/server_user.hpp"

#include <pwd.h>
#include <stdexcept>
#include <system_error>
#include <unistd.h>

namespace holdfast::test {

namespace {

void give(const std::filesystem::path& path, const server_user& to) {
  if (::lchown(path.c_str(), to.id, to.group) == 0) return;
  throw std::filesystem::filesystem_error{"chown", path, std::error_code{errno, std::generic_category()}};
}

}  // namespace

std::optional<server_user> unprivileged_user(const std::string& name) {
  if (::geteuid() != 0) return std::nullopt;
  for (const auto& candidate : {name, std::string{"nobody"}}) {
    const ::passwd* found = ::getpwnam(candidate.c_str());
    if (found != nullptr) return server_user{found->pw_uid, found->pw_gid};
  }
  throw std::runtime_error{"there is no user " + name + ", and no user nobody"};
}

void hand_over(const std::filesystem::path& path, const server_user& to) {
  give(path, to);
  if (!std::filesystem::is_directory(std::filesystem::symlink_status(path))) return;
  for (const auto& each : std::filesystem::recursive_directory_iterator{path}) give(each.path(), to);
}

}  // namespace holdfast::test
