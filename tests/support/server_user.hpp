// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>

namespace holdfast::test {

/// Whom a server runs as that refuses to be root's.
struct server_user {
  ::uid_t id = 0;
  ::gid_t group = 0;
};

/// The user of that name, or else "nobody"; nothing where we are not root, and it runs as we do.
/// \throws std::runtime_error where there is neither.
[[nodiscard]] std::optional<server_user> unprivileged_user(const std::string& name);

/// Gives it a file, or a folder with everything in it.
void hand_over(const std::filesystem::path& path, const server_user& to);

}  // namespace holdfast::test
