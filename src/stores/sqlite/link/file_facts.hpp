#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <sys/types.h>
#include <vector>

#include "holdfast/diagnosis.hpp"
#include "stores/sqlite/link/place.hpp"

namespace holdfast::sqlite {

/// What can be seen of a store's file, its folder and its content.
struct file_facts {
  /// A file or a folder. None: it is not there.
  struct entry {
    std::string path;
    uid_t owner = 0;
    gid_t group = 0;
    mode_t mode = 0;
    nlink_t names = 1;
    std::uint64_t bytes = 0;

    [[nodiscard]] static std::optional<entry> of(const std::string& path);
    [[nodiscard]] bool has(mode_t bits) const noexcept { return (mode & bits) != 0; }
  };

  std::string path;
  uid_t user = 0;  // effective, of this process
  std::optional<entry> file;
  std::optional<entry> folder;
  std::string wanted_folder;             // the folder, which may not be there
  std::string nearest_folder;            // the folder, or the nearest one above it that is there
  std::string mount_point;               // of its file system
  std::vector<entry> above;              // the folders above it that are there
  const char* network = nullptr;         // the name of its network file system
  bool accepts_network = false;          // network_fs=1
  bool makes_folders = false;            // a client makes the folder
  bool is_mounted_alone = false;         // the file itself is a mount point
  bool has_proc = true;                  // the offset of a time namespace can be read
  std::string access_problem;            // why this user cannot use the file or its folder
  std::optional<wrong_neighbour> wrong;  // of the -wal, -shm and -journal files
  std::string wake_problem;              // of the folder of FIFOs
  std::uint64_t free_bytes = 0;          // for this user
  std::uint64_t free_inodes = 0;         // likewise
  bool counts_inodes = false;            // some file systems do not
  std::uint64_t wal_bytes = 0;

  /// What the database says of itself.
  struct content {
    bool has_tables = false;
    std::string journal_mode;
    std::int64_t layout = 0;
    std::int64_t known_layout = 0;
    std::uint32_t pages_in_wal = 0;            // that are not in the database yet
    std::optional<std::int64_t> newest_token;  // 0: there is none; none: it could not be read
    std::int64_t wall_clock_us = 0;            // at the same time
    std::optional<std::string> damage;         // "ok": none found; none: not examined to the end
  };
  std::optional<content> database;  // none: there is no file, or it cannot be read
  std::string read_problem;         // why not
};

/// Holds them to the conditions of docs/stores/sqlite.md.
[[nodiscard]] std::vector<finding> findings_of(const file_facts& facts);

}  // namespace holdfast::sqlite
