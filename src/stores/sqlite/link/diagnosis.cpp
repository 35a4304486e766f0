#include "stores/sqlite/link/diagnosis.hpp"

#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "holdfast/error.hpp"
#include "stores/sqlite/link/database.hpp"
#include "stores/sqlite/link/file_facts.hpp"
#include "stores/sqlite/link/fork_guard.hpp"
#include "stores/sqlite/link/place.hpp"
#include "stores/sqlite/link/request_error.hpp"

namespace holdfast::sqlite {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

bool exists(const std::string& path) {
  struct stat info{};
  return ::lstat(path.c_str(), &info) == 0;
}

/// A path as a URI of SQLite.
std::string uri_of(const std::string& path, const char* parameters) {
  std::string uri = "file:";
  for (const char c : path) {
    switch (c) {
      case '%': uri += "%25"; break;
      case '?': uri += "%3f"; break;
      case '#': uri += "%23"; break;
      default: uri += c;
    }
  }
  return uri + parameters;
}

/// A connection that can only read, and that leaves nothing behind.
///
/// Its file is SQLite's alone: whoever else closes it ends the locks that this process has on it (fcntl(2)).
class reader {
 public:
  /// \throws broken.
  reader(const std::string& path, milliseconds limit) : path_{path}, until_{steady_clock::now() + limit} {
    // Without a -wal the file is all there is, and nobody writes it: with locks SQLite would make the -wal
    // and the -shm. With one, the -shm that is there is read.
    is_alone_ = !exists(path + "-wal");
    const std::string uri = uri_of(path, is_alone_ ? "?immutable=1" : "?readonly_shm=1");
    constexpr int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX |
                          SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOFOLLOW;
    const int code = sqlite3_open_v2(uri.c_str(), &db_, flags, nullptr);
    if (code != SQLITE_OK) {
      const broken problem = failed(code);
      close();
      throw broken{problem};
    }
    sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    sqlite3_busy_timeout(db_, static_cast<int>(limit.count()));
    sqlite3_progress_handler(db_, operations_between_looks, &is_late, this);
  }
  ~reader() { close(); }
  reader(const reader&) = delete;
  reader& operator=(const reader&) = delete;

  /// Whether a client has come meanwhile: then what was read may be torn.
  [[nodiscard]] bool is_outdated() const { return is_alone_ && exists(path_ + "-wal"); }

  /// The first column of the first row. None: there was no time to find it. \throws broken.
  [[nodiscard]] std::optional<std::string> text(const std::string& query) {
    sqlite3_stmt* statement = nullptr;
    int code = sqlite3_prepare_v2(db_, query.c_str(), -1, &statement, nullptr);
    if (code == SQLITE_OK) code = sqlite3_step(statement);
    std::string value;
    if (code == SQLITE_ROW) {
      const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
      if (bytes != nullptr) value = bytes;
    }
    sqlite3_finalize(statement);
    if (code == SQLITE_INTERRUPT) return std::nullopt;
    if (code != SQLITE_ROW && code != SQLITE_DONE) throw failed(code);
    return value;
  }
  [[nodiscard]] std::int64_t number(const std::string& query) {
    const std::string digits = text(query).value_or("0");
    return std::strtoll(digits.c_str(), nullptr, 10);
  }

  /// The format that the file's header names.
  [[nodiscard]] std::string journal_mode() const {
    constexpr int version_at = 18;
    constexpr unsigned char wal = 2;
    unsigned char version = 0;
    sqlite3_file* const file = opened();
    if (file == nullptr || file->pMethods->xRead(file, &version, 1, version_at) != SQLITE_OK)
      return "unknown";
    return version == wal ? "wal" : "a rollback journal";
  }

  /// How many pages of the -wal are not in the database yet. The index of the -wal, in the -shm, says so:
  /// https://www.sqlite.org/walformat.html. 0 without a -wal, and where nobody has the file open.
  [[nodiscard]] std::uint32_t pages_in_wal() const {
    constexpr int region = 32 * 1024;
    constexpr std::size_t last_frame_at = 16;
    constexpr std::size_t checkpointed_at = 96;
    sqlite3_file* const file = opened();
    if (is_alone_ || file == nullptr || file->pMethods->iVersion < 2) return 0;
    volatile void* index = nullptr;
    const int code = file->pMethods->xShmMap(file, 0, region, 0, &index);
    if ((code != SQLITE_OK && code != SQLITE_READONLY) || index == nullptr) return 0;
    const auto word = [&](std::size_t at) {
      return *reinterpret_cast<const volatile std::uint32_t*>(static_cast<volatile char*>(index) + at);
    };
    const std::uint32_t checkpointed = word(checkpointed_at);
    const std::uint32_t last = word(last_frame_at);
    return last > checkpointed ? last - checkpointed : 0;
  }

 private:
  static constexpr int operations_between_looks = 1000;

  static int is_late(void* self) { return steady_clock::now() >= static_cast<reader*>(self)->until_ ? 1 : 0; }
  [[nodiscard]] sqlite3_file* opened() const {
    sqlite3_file* file = nullptr;
    if (sqlite3_file_control(db_, "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file)) != SQLITE_OK)
      return nullptr;
    return file != nullptr && file->pMethods != nullptr ? file : nullptr;
  }
  [[nodiscard]] broken failed(int code) const { return broken{request_error_of(db_, code, path_)}; }
  void close() noexcept { sqlite3_close(std::exchange(db_, nullptr)); }

  std::string path_;
  steady_clock::time_point until_;
  sqlite3* db_ = nullptr;
  bool is_alone_ = false;
};

std::int64_t wall_clock_us() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

/// None: the file is empty. \throws broken, holdfast::error.
std::optional<file_facts::content> content_of(reader& from, const std::string& path,
                                              const sql::tables& names) {
  if (from.number("SELECT count(*) FROM sqlite_master") == 0) return std::nullopt;
  if (from.number("PRAGMA application_id") != application_id)
    throw error{errc::foreign_store, path + " is a database of another program; choose another path"};
  file_facts::content found;
  found.known_layout = schema_version;
  found.layout = from.number("PRAGMA user_version");
  if (found.layout > schema_version) return found;
  const auto has = [&](const std::string& table) {
    return from.number("SELECT count(*) FROM sqlite_master WHERE name = '" + table + "'") > 0;
  };
  found.has_tables = has(names.locks) && has(names.claims) && has(names.sweeps);
  if (!found.has_tables) return found;
  found.journal_mode = from.journal_mode();
  found.pages_in_wal = from.pages_in_wal();
  found.damage = from.text("PRAGMA quick_check(1)");
  if (found.damage == "ok") {
    found.newest_token = from.number("SELECT max(token) FROM " + names.locks);
    found.wall_clock_us = wall_clock_us();
  }
  return found;
}

void read_content(file_facts& facts, const sql::tables& names, milliseconds limit) {
  if (!facts.neighbour_problem.empty()) {
    facts.read_problem = "it was not read, because of the files beside it";
    return;
  }
  constexpr int tries = 3;
  for (int done = 0; done < tries; ++done) {
    try {
      fork_guard::close_inherited();
      reader from{facts.path, limit};
      facts.database = content_of(from, facts.path, names);
      if (!from.is_outdated()) return;
    } catch (const broken& b) {
      if (b.cause.reason.code == errc::corrupt_store)
        throw error{b.cause.reason.code, b.cause.reason.message};
      facts.read_problem = b.cause.reason.message;
      return;
    }
  }
}

std::string folder_of(const std::string& path) { return std::filesystem::path{path}.parent_path().string(); }

/// The same permissions, and to search it where the file can be read.
bool fits(const struct stat& folder, const struct stat& database) {
  const mode_t group = S_IRWXG;
  const bool group_writes = (database.st_mode & S_IWGRP) != 0;
  return !group_writes || (folder.st_gid == database.st_gid && (folder.st_mode & group) == group);
}

std::string wake_problem_of(const std::string& path) {
  const std::string wake = path + "-wake";
  struct stat info{};
  struct stat database{};
  struct stat folder{};
  if (::lstat(wake.c_str(), &info) != 0 || ::lstat(path.c_str(), &database) != 0) return {};
  if (::stat(folder_of(path).c_str(), &folder) != 0) return {};
  if (S_ISLNK(info.st_mode)) return wake + " is a symbolic link";
  if (!S_ISDIR(info.st_mode)) return wake + " is no folder";
  if (!is_of_a_writer(info, database, folder)) {
    return wake + " belongs to a user who may not write the database (uid " + std::to_string(info.st_uid) +
           ")";
  }
  if (!fits(info, database)) return wake + " cannot be written by the group that may write the database";
  return {};
}

std::string access_problem_of(const file_facts& facts) {
  const auto lacks = [](const std::string& path, int rights) { return ::access(path.c_str(), rights) != 0; };
  if (lacks(facts.nearest_folder, R_OK | W_OK | X_OK))
    return "the folder " + facts.nearest_folder + " cannot be written by this user: " + std::strerror(errno);
  if (facts.file && lacks(facts.path, R_OK | W_OK))
    return "the file cannot be read and written by this user: " + std::string{std::strerror(errno)};
  return {};
}

/// Whether another file system, or a part of one, begins here: of a file, a bind mount.
bool is_mount_point(const std::string& path) {
  struct statx info{};
  return ::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, 0, &info) == 0 &&
         (info.stx_attributes & info.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0;
}

void look_at_folders(file_facts& facts) {
  const std::string folder = folder_of(facts.path);
  facts.folder = file_facts::entry::of(folder);
  facts.nearest_folder = folder;
  while (!exists(facts.nearest_folder) && facts.nearest_folder != "/")
    facts.nearest_folder = folder_of(facts.nearest_folder);
  for (std::string above = folder; above != "/";) {
    above = folder_of(above);
    const auto entry = file_facts::entry::of(above);
    if (entry && entry->may_be_written_by(S_IWOTH) && !entry->may_be_written_by(S_ISVTX))
      facts.open_above.push_back(*entry);
  }
  struct statfs system{};
  if (::statfs(facts.nearest_folder.c_str(), &system) == 0) facts.network = network_filesystem(system.f_type);
  struct statvfs room{};
  if (::statvfs(facts.nearest_folder.c_str(), &room) == 0) {
    facts.free_bytes = static_cast<std::uint64_t>(room.f_bavail) * room.f_frsize;
    facts.free_inodes = room.f_favail;
    facts.counts_inodes = room.f_files != 0;
  }
}

}  // namespace

std::vector<finding> diagnose(const std::string& path, const sql::tables& names, bool accepts_network,
                              milliseconds limit) {
  try {
    check_place(path, true);
  } catch (const error& e) {  // others are findings
    if (e.code() == errc::foreign_store || e.code() == errc::corrupt_store) throw;
  }
  file_facts facts;
  facts.path = path;
  facts.user = ::geteuid();
  facts.accepts_network = accepts_network;
  facts.file = file_facts::entry::of(path);
  look_at_folders(facts);
  facts.is_mounted_alone = is_mount_point(path);
  facts.has_proc = ::access("/proc/self", F_OK) == 0;
  facts.access_problem = access_problem_of(facts);
  facts.wake_problem = wake_problem_of(path);
  try {
    check_neighbours(path);
  } catch (const error& e) {
    facts.neighbour_problem = e.what();
  }
  struct stat wal{};
  if (::lstat((path + "-wal").c_str(), &wal) == 0) facts.wal_bytes = static_cast<std::uint64_t>(wal.st_size);
  if (facts.file) read_content(facts, names, limit);
  return findings_of(facts);
}

}  // namespace holdfast::sqlite
