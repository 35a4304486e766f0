// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <sys/stat.h>
#include <sys/types.h>

#include "holdfast/options.hpp"

namespace holdfast::sqlite {

/// The database's path where the URL names none: `$XDG_STATE_HOME/holdfast/locks.db`, `~/.local/state/…`
/// without that variable. \throws holdfast::error errc::invalid_url without a home.
[[nodiscard]] std::string default_path();

/// The one absolute path of a file, with symbolic links followed. The files beside a database are found by
/// its path, which has to be the same for all processes, whatever their working directories.
///
/// Only links of this user and of root are followed. A user who may write a folder on the way could otherwise
/// direct root to one of root's files.
/// \throws holdfast::error errc::permission_denied for a link of another user.
[[nodiscard]] std::string resolved(const std::string& path);

/// Checks conditions that would fail later with a less helpful message: this user may write the folder and
/// the file, and the file is a plain file. A folder that does not exist yet is not checked.
/// \param anywhere also on a file system that does not keep locks between hosts.
/// \throws holdfast::error errc::permission_denied, errc::foreign_store, errc::unavailable.
void check_place(const std::string& path, bool anywhere);

/// The same, where the file is to be made.
/// \param makes_folders makes the folder and its parents, for this user alone. Else they have to be there.
void prepare_place(const std::string& path, bool anywhere, bool makes_folders);

/// Makes an empty file for this user alone, where there is none, and with it the -wal and -shm: who may only
/// read a -shm can lock parts of it. Not by an open(), whose close() would end the locks that other clients
/// of this process have in the file. What fails is reported by the opening that follows.
void make_file(const std::string& path) noexcept;

/// What is wrong with a path as it stands in a URL: it would silently be another store than its writer means.
/// Empty: nothing.
[[nodiscard]] std::string problem_of(const std::string& path);

/// Whether the owner of `neighbour`, a file or folder beside the database, may write the database anyway:
/// this user, root, the database's owner, or a member of a group that may write it.
/// \param folder in which both are.
[[nodiscard]] bool is_of_a_writer(const struct ::stat& neighbour, const struct ::stat& database,
                                  const struct ::stat& folder) noexcept;

/// A file beside a database that must not be read, and why.
struct wrong_neighbour {
  std::string path;
  std::string problem;  // "is not a plain file"
};

/// Looks at the files beside a database that SQLite reads: SQLite would bring the content of another user's
/// journal, -wal or -shm into the database.
/// \return the first file of a user who may not write the database, symbolic link, file with several names,
/// or anything else but a plain file.
[[nodiscard]] std::optional<wrong_neighbour> find_wrong_neighbour(const std::string& path);

/// \throws holdfast::error errc::permission_denied for such a file.
void check_neighbours(const std::string& path);

/// Whether another file system, or a part of one, begins here: of a file, a bind mount.
[[nodiscard]] bool is_mount_point(const std::string& path);

/// The name of a network or otherwise shared file system by its magic number (statfs(2)); null for others.
[[nodiscard]] const char* network_filesystem(long magic);

/// Which file a path leads to: tells when it has been deleted or replaced.
struct file_identity {
  dev_t device = 0;
  ino_t inode = 0;

  /// All zero where there is no file. A symbolic link is not followed: it is another file.
  [[nodiscard]] static file_identity of(const char* path) noexcept;
  friend bool operator==(const file_identity&, const file_identity&) = default;
};

/// Which files make up an open database: clients exclude each other if they have all of them in common.
struct database_identity {
  file_identity file;
  file_identity wal;
  file_identity shm;

  friend bool operator==(const database_identity&, const database_identity&) = default;
};

/// How far CLOCK_BOOTTIME of this process is ahead of the machine's: the offset of its time namespace. All
/// clients of a file have to agree on the time.
[[nodiscard]] duration boottime_offset();
/// The same from the text of /proc/self/timens_offsets; zero where there is no such line.
[[nodiscard]] duration boottime_offset_in(const std::string& timens_offsets);

}  // namespace holdfast::sqlite
