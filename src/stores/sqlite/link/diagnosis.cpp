// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/link/diagnosis.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <tuple>
#include <unistd.h>
#include <utility>

#include "holdfast/error.hpp"
#include "stores/sqlite/link/conditions.hpp"
#include "stores/sqlite/link/database.hpp"
#include "stores/sqlite/link/fork_guard.hpp"
#include "stores/sqlite/link/place.hpp"

namespace holdfast::sqlite {

namespace {

using doctor::facts;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using status = struct ::stat;

std::optional<status> status_of(const std::string& path) {
  status found{};
  if (::lstat(path.c_str(), &found) != 0) return std::nullopt;
  return found;
}

std::string parent_of(const std::string& path) { return std::filesystem::path{path}.parent_path().string(); }

std::string described(const std::string& path, const status& one) {
  std::array<char, 8> mode{};
  std::snprintf(mode.data(), mode.size(), "%04o", static_cast<unsigned>(one.st_mode & 07777U));
  return path + " has the mode " + mode.data() + ", and belongs to uid " + std::to_string(one.st_uid) +
         ", gid " + std::to_string(one.st_gid);
}

// ---- its content

// Places in the header of the file: https://www.sqlite.org/fileformat.html.
constexpr int version_at = 18;
constexpr unsigned char wal_version = 2;

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

broken failed(sqlite3* db, int code, const std::string& path) {
  if (code != SQLITE_READONLY_ROLLBACK) return broken{request_error_of(db, code, path)};
  return broken{{{errc::unavailable, path + "-journal has an interrupted change of the file; the next client "
                                            "that opens the file takes it back"},
                 true,
                 false}};
}

/// A connection that can only read, and that leaves nothing behind.
///
/// Its file is SQLite's alone: whoever else closes it ends the locks that this process has on it (fcntl(2)).
class file_reader {
 public:
  /// \param limit a file that is locked is waited for, and all queries together may take. \throws broken.
  file_reader(const std::string& path, milliseconds limit) : path_{path}, limit_{limit} {
    try {
      begin();
    } catch (...) {
      close();
      throw;
    }
  }
  ~file_reader() { close(); }
  file_reader(const file_reader&) = delete;
  file_reader& operator=(const file_reader&) = delete;

  /// The first column of the first row, or zero. \throws broken.
  [[nodiscard]] std::int64_t number(const std::string& query) {
    sqlite3_stmt* statement = nullptr;
    int code = sqlite3_prepare_v2(db_, query.c_str(), -1, &statement, nullptr);
    if (code == SQLITE_OK) code = sqlite3_step(statement);
    const std::int64_t value = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_finalize(statement);
    if (code != SQLITE_ROW && code != SQLITE_DONE) throw failed(db_, code, path_);
    return value;
  }
  /// As the header of the file has it.
  [[nodiscard]] bool is_in_wal_mode() const {
    unsigned char version = 0;
    sqlite3_file* const file = opened();
    return file != nullptr && file->pMethods->xRead(file, &version, 1, version_at) == SQLITE_OK &&
           version == wal_version;
  }

 private:
  /// Chooses the locks. In WAL mode SQLite would make the -wal and the -shm in order to take them.
  void begin() {
    open("?readonly_shm=1");
    // Nobody removes the -wal, and no transaction of a rollback journal is in the middle of the file, while
    // this is held. SQLite keeps it for the first query. If it cannot be had, the query waits for it.
    if (sqlite3_file* const file = opened()) file->pMethods->xLock(file, SQLITE_LOCK_SHARED);
    const auto journal = status_of(path_ + "-journal");
    if (status_of(path_ + "-wal") || !is_in_wal_mode() || (journal && journal->st_size > 0)) return;
    // Nobody has the file open in WAL mode, so it is all there is.
    close();
    open("?immutable=1");
  }
  void open(const char* parameters) {
    constexpr int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX |
                          SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOFOLLOW;
    const int code = sqlite3_open_v2(uri_of(path_, parameters).c_str(), &db_, flags, nullptr);
    if (code != SQLITE_OK) throw failed(db_, code, path_);
    trust_no_schema(db_);
    sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    sqlite3_busy_timeout(db_, static_cast<int>(limit_.count()));
    const auto is_late = [](void* self) {
      return steady_clock::now() >= static_cast<file_reader*>(self)->until_ ? 1 : 0;
    };
    sqlite3_progress_handler(db_, 1000, is_late, this);
  }
  void close() noexcept { sqlite3_close(std::exchange(db_, nullptr)); }
  [[nodiscard]] sqlite3_file* opened() const {
    sqlite3_file* file = nullptr;
    if (sqlite3_file_control(db_, "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file)) != SQLITE_OK)
      return nullptr;
    return file != nullptr && file->pMethods != nullptr ? file : nullptr;
  }

  std::string path_;
  milliseconds limit_;
  steady_clock::time_point until_ = steady_clock::now() + limit_;
  sqlite3* db_ = nullptr;
};

/// \throws broken.
void read_database(file_reader& from, const std::string& path, const sql::naming& names, facts& to) {
  if (from.number("SELECT count(*) FROM sqlite_master") == 0)
    return to.set("file", "it is empty; the first lock makes its tables");
  if (from.number("PRAGMA application_id") != application_id)
    throw broken{{{errc::foreign_store, path + " is a database of another program; choose another path"}}};
  to.set("file", "it can be read");
  const std::int64_t layout = from.number("PRAGMA user_version");
  to.set("layout", layout);
  to.set("known_layout", schema_version);
  to.set_flag("newer_layout", layout > schema_version);
  if (layout > schema_version) return;
  const bool has_tables = from.number(count_of_tables(names)) == 3;
  to.set_flag("tables", has_tables);
  if (!has_tables) return;
  to.set("journal", from.is_in_wal_mode() ? "wal" : "a rollback journal");
  const std::chrono::microseconds now =
      std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch());
  const std::int64_t newest = from.number("SELECT max(token) FROM " + names.quoted("locks"));
  to.set("token_ahead_s", (std::max<std::int64_t>(newest, 0) - now.count()) / 1'000'000);
}

/// The file may be read without locks. If a client comes meanwhile, what is read may be torn, and looks like
/// damage, or like another program's file.
facts read_content(const std::string& path, const sql::naming& names, milliseconds limit) {
  fork_guard::close_inherited();
  const annotated::lock no_fork{fork_guard::reading()};
  const auto change = [&] {
    const auto file = status_of(path).value_or(status{});
    return std::tuple{file.st_ino, file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec};
  };
  const auto before = change();
  facts of;
  failure problem;
  try {
    file_reader from{path, limit};
    read_database(from, path, names, of);
  } catch (const broken& b) {
    problem = b.cause.reason;
  }
  const bool is_unusable = problem.code == errc::corrupt_store || problem.code == errc::foreign_store;
  if (is_unusable && change() == before) throw error{problem.code, problem.message};
  if (problem.message.empty()) return of;
  facts unread;
  unread.set("read_problem", is_unusable ? "clients come and go; look again" : problem.message);
  return unread;
}

// ---- what is around it

/// Who may read the file, and not write it, and reaches it.
std::string mere_readers(const std::string& path, const status& file) {
  const auto is_reached_by = [&](mode_t search) {
    for (std::string folder = path; folder != "/";) {
      folder = parent_of(folder);
      const auto found = status_of(folder);
      if (!found || (found->st_mode & search) == 0) return false;
    }
    return true;
  };
  if ((file.st_mode & S_IROTH) != 0 && is_reached_by(S_IXOTH)) return "everybody";
  const bool is_group = (file.st_mode & S_IRGRP) != 0 && (file.st_mode & S_IWGRP) == 0;
  return is_group && is_reached_by(S_IXGRP | S_IXOTH) ? "its group" : "";
}

/// Examines the folder of the file, and all above that are there. \return the nearest one to the file.
std::string examine_folders(const std::string& path, const std::optional<status>& file,
                            std::vector<finding>& to) {
  const std::string own = parent_of(path);
  std::string nearest;
  for (std::string folder = own;; folder = parent_of(folder)) {
    if (const auto found = status_of(folder)) {
      if (nearest.empty()) nearest = folder;
      const auto has = [&](mode_t bits) { return (found->st_mode & bits) != 0; };
      facts of{path};
      of.set("path", folder);
      of.set("file", path);
      of.set("user", ::geteuid());
      of.set("gid", found->st_gid);
      of.set("described", described(folder, *found));
      of.set_flag("above", folder != own);
      of.set_flag("stranger", found->st_uid != 0 && found->st_uid != ::geteuid() &&
                                  (!file || found->st_uid != file->st_uid));
      of.set("writers", has(S_IWOTH) ? "everybody" : has(S_IWGRP) ? "its group" : "");
      of.set("writers_mode", has(S_IWOTH) ? "o-w" : "g-w");
      of.set_flag("sticky", has(S_ISVTX));
      of.set_flag("group_has_file",
                  !file || ((file->st_mode & S_IWGRP) != 0 && found->st_gid == file->st_gid));
      doctor::examine(conditions::folder_conditions, of, to);
    }
    if (folder == "/") return nearest;
  }
}

void look_at_file(const std::string& path, const status& file, const std::optional<status>& folder,
                  facts& to) {
  to.set("file_mode", described(path, file));
  to.set("file_gid", file.st_gid);
  to.set_flag("file_everybody", (file.st_mode & S_IWOTH) != 0);
  to.set_flag("file_group", (file.st_mode & S_IWGRP) != 0);
  if (!folder) return;
  to.set_flag("folder_group", (folder->st_mode & (S_IWGRP | S_IWOTH)) != 0);
  const std::string readers = mere_readers(path, file);
  to.set("readers", readers);
  to.set("readers_mode", readers == "everybody" ? "o-r" : "g-r");
}

}  // namespace

std::vector<finding> diagnose(const std::string& path, const sql::naming& names, place_options options,
                              milliseconds limit) {
  std::string place_problem;
  try {
    check_place(path, options.accepts_network);
  } catch (const error& e) {
    if (e.code() == errc::foreign_store || e.code() == errc::corrupt_store) throw;
    place_problem = e.detail();
  }
  const auto file = status_of(path);
  const auto wrong = find_wrong_neighbour(path);
  facts of;
  if (file && !wrong) of = read_content(path, names, limit);
  of.subject = path;
  if (!file) of.set("file", "it is not there yet; the first lock makes it");
  of.set("read_problem", "it was not read, because of the files beside it");
  std::vector<finding> of_folders;
  const std::string nearest = examine_folders(path, file, of_folders);
  const auto folder = status_of(parent_of(path));
  of.set("path", path);
  of.set("user", ::geteuid());
  of.set("folder", folder ? "there" : "missing");
  of.set("folder_path", parent_of(path));
  of.set("nearest", nearest);
  struct statfs system{};
  const char* const network =
      ::statfs(nearest.c_str(), &system) == 0 ? network_filesystem(system.f_type) : nullptr;
  if (network != nullptr) of.set("network", network);
  of.set_flag("temporary", path.starts_with("/tmp/") || path.starts_with("/var/tmp/"));
  of.set_flag("proc", ::access("/proc/self", F_OK) == 0);
  if (!folder && !options.makes_folders)
    place_problem = "the folder " + parent_of(path) + " is not there, and is not made";
  of.set("place_problem", place_problem);
  if (file) look_at_file(path, *file, folder, of);
  if (wrong) {
    of.set("neighbour", wrong->path);
    of.set("neighbour_problem", wrong->problem);
    of.set_flag("neighbour_is_index", wrong->path.ends_with("-shm"));
  }
  std::vector<finding> all;
  doctor::examine(conditions::file_conditions, of, all);
  all.insert(all.end(), of_folders.begin(), of_folders.end());
  return all;
}

}  // namespace holdfast::sqlite
