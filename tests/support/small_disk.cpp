// SPDX-License-Identifier: Apache-2.0
#include "support/small_disk.hpp"

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

#include "support/child_process.hpp"
#include "support/scratch_folder.hpp"

namespace holdfast::test {

namespace {

/// In a mount namespace of its own, as root: mounts a disk, and becomes a program of another user. $1: KiB;
/// $2, $3: user and group; $4: where.
constexpr const char* with_a_disk = R"sh(
mount -t tmpfs -o "size=$1k,mode=0700,uid=$2,gid=$3" none "$4" || exit 1
user=$2 group=$3
shift 4
exec setpriv --reuid="$user" --regid="$group" --clear-groups --pdeathsig KILL "$@"
)sh";

/// The file that takes the room, seen from outside its mount namespace.
std::string filler(::pid_t program, const std::string& folder) {
  return "/proc/" + std::to_string(program) + "/root" + folder + "/filler";
}

}  // namespace

std::vector<std::string> on_small_disk(int kib, const server_user& user, const std::string& folder) {
  return {"unshare",
          "--mount",
          "--propagation",
          "private",
          "/bin/sh",
          "-c",
          with_a_disk,
          "sh",
          std::to_string(kib),
          std::to_string(user.id),
          std::to_string(user.group),
          folder};
}

void fill_small_disk(::pid_t program, const std::string& folder) {
  const auto path = filler(program, folder);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) throw std::system_error{errno, std::generic_category(), path};
  const std::string page(4096, 'x');
  while (::write(file, page.data(), page.size()) > 0) {
  }
  const int error = errno;
  ::close(file);
  if (error != ENOSPC) throw std::system_error{error, std::generic_category(), path};
}

void clear_small_disk(::pid_t program, const std::string& folder) {
  const auto path = filler(program, folder);
  if (::unlink(path.c_str()) != 0) throw std::system_error{errno, std::generic_category(), path};
}

std::optional<std::string> no_small_disk() {
  const auto user = unprivileged_user("nobody");
  if (!user) return "a small disk is for root to mount";
  const scratch_folder folder;
  auto arguments = on_small_disk(64, *user, folder.path().string());
  arguments.emplace_back("true");
  try {
    if (child_process{arguments, {}}.wait(std::chrono::seconds{60}) == 0) return std::nullopt;
  } catch (const std::system_error&) {  // there is no unshare
  }
  return "a small disk of its own is not permitted here";
}

}  // namespace holdfast::test
