#include "stores/sqlite/link/file_reader.hpp"

#include <algorithm>
#include <cstdlib>
#include <sqlite3.h>
#include <sys/stat.h>
#include <utility>

#include "stores/sqlite/link/database.hpp"
#include "stores/sqlite/link/request_error.hpp"
#include "stores/sqlite/link/schema_trust.hpp"

namespace holdfast::sqlite {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int operations_between_looks = 1000;

// Of the header: https://www.sqlite.org/fileformat.html.
constexpr int version_at = 18;
constexpr unsigned char wal_version = 2;
constexpr int counter_at = 24;

bool has_content(const std::string& path) {
  struct stat info{};
  return ::lstat(path.c_str(), &info) == 0 && info.st_size > 0;
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

broken unreadable(const std::string& reason) { return broken{{{errc::unavailable, reason}, true, false}}; }

broken failed(sqlite3* db, int code, const std::string& path) {
  if (code == SQLITE_READONLY_ROLLBACK) {
    return unreadable(path +
                      "-journal has an interrupted change of the file; the next client that opens the file "
                      "takes it back");
  }
  return broken{request_error_of(db, code, path)};
}

}  // namespace

file_state file_state::of(const std::string& path) noexcept {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) return {};
  return {{info.st_dev, info.st_ino},
          file_identity::of((path + "-wal").c_str()),
          info.st_size,
          info.st_mtim.tv_sec,
          info.st_mtim.tv_nsec};
}

file_reader::file_reader(const std::string& path, steady_clock::time_point until)
    : path_{path}, until_{until}, before_{file_state::of(path)} {
  try {
    begin();
  } catch (...) {
    close();
    throw;
  }
}

file_reader::~file_reader() { close(); }

/// Chooses the locks. In WAL mode SQLite would make the -wal and the -shm in order to take them.
void file_reader::begin() {
  open("?readonly_shm=1");
  counter_before_ = counter();
  // Nobody removes the -wal, and no transaction of a rollback journal is in the middle of the file, while
  // this is held. SQLite keeps it for the first query. If it cannot be had, the query waits for it.
  if (sqlite3_file* const file = opened()) file->pMethods->xLock(file, SQLITE_LOCK_SHARED);
  if (before_.wal != file_identity::of((path_ + "-wal").c_str()))
    throw unreadable("clients have come or gone while the file was opened");
  if (before_.wal != file_identity{} || !is_in_wal_mode()) return;
  if (has_content(path_ + "-journal")) {
    throw unreadable("a change of the journal mode is under way, or was interrupted (" + path_ + "-journal)");
  }
  // Nobody has the file open in WAL mode, so it is all there is.
  close();
  open("?immutable=1");
  is_immutable_ = true;
}

void file_reader::open(const char* parameters) {
  constexpr int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
                        SQLITE_OPEN_NOFOLLOW;
  const int code = sqlite3_open_v2(uri_of(path_, parameters).c_str(), &db_, flags, nullptr);
  if (code != SQLITE_OK) throw failed(db_, code, path_);
  trust_no_schema(db_);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  const auto left = std::max(milliseconds{}, std::chrono::ceil<milliseconds>(until_ - steady_clock::now()));
  sqlite3_busy_timeout(db_, static_cast<int>(left.count()));
  sqlite3_progress_handler(db_, operations_between_looks, &is_late, this);
}

void file_reader::close() noexcept { sqlite3_close(std::exchange(db_, nullptr)); }

bool file_reader::has_changed() const {
  return file_state::of(path_) != before_ || counter() != counter_before_;
}

std::optional<std::string> file_reader::text(const std::string& query) {
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
  if (code != SQLITE_ROW && code != SQLITE_DONE) throw failed(db_, code, path_);
  return value;
}

std::optional<std::int64_t> file_reader::number(const std::string& query) {
  const auto digits = text(query);
  if (!digits) return std::nullopt;
  return std::strtoll(digits->c_str(), nullptr, 10);
}

std::int64_t file_reader::required_number(const std::string& query) {
  const auto found = number(query);
  if (!found) throw unreadable(path_ + ": reading it took too long");
  return *found;
}

bool file_reader::is_in_wal_mode() const {
  unsigned char version = 0;
  sqlite3_file* const file = opened();
  return file != nullptr && file->pMethods->xRead(file, &version, 1, version_at) == SQLITE_OK &&
         version == wal_version;
}

std::string file_reader::journal_mode() const { return is_in_wal_mode() ? "wal" : "a rollback journal"; }

file_reader::change_counter file_reader::counter() const {
  change_counter found{};
  sqlite3_file* const file = opened();
  if (file != nullptr) file->pMethods->xRead(file, found.data(), found.size(), counter_at);
  return found;
}

int file_reader::is_late(void* self) {
  return steady_clock::now() >= static_cast<file_reader*>(self)->until_ ? 1 : 0;
}

sqlite3_file* file_reader::opened() const {
  sqlite3_file* file = nullptr;
  if (sqlite3_file_control(db_, "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file)) != SQLITE_OK)
    return nullptr;
  return file != nullptr && file->pMethods != nullptr ? file : nullptr;
}

}  // namespace holdfast::sqlite
