#pragma once

#include <sys/types.h>

#include <string>

namespace holdfast::sqlite {

/// Where the database is when nobody says: `$XDG_STATE_HOME/holdfast/locks.db`, `~/.local/state/…` without
/// that variable. \throws holdfast::error errc::invalid_url without a home.
[[nodiscard]] std::string default_path();

/// Makes the folder of a database that does not exist yet, and checks what would fail later with a less
/// helpful word: the folder and the file must be this user's to write, the file a plain one.
/// \param anywhere also on a file system that does not keep locks between hosts.
/// \throws holdfast::error errc::permission_denied, errc::foreign_store, errc::unavailable.
void prepare_place(const std::string& path, bool anywhere);

/// The name of a network or otherwise shared file system by its magic number (statfs(2)); null for others.
[[nodiscard]] const char* network_filesystem(long magic);

/// Which file a path leads to: tells when it has been deleted or replaced.
struct file_identity {
  dev_t device = 0;
  ino_t inode = 0;

  /// All zero where there is no file.
  [[nodiscard]] static file_identity of(const char* path) noexcept;
  friend bool operator==(const file_identity&, const file_identity&) = default;
};

/// Names this boot of the machine: CLOCK_BOOTTIME begins anew with each.
/// \throws holdfast::error errc::unavailable without /proc.
[[nodiscard]] std::string boot_id();

}  // namespace holdfast::sqlite
