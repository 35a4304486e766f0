#include "stores/sqlite/link/file_reader.hpp"

#include <sqlite3.h>
#include <sys/stat.h>
#include <utility>

#include "stores/sqlite/link/database.hpp"
#include "stores/sqlite/link/request_error.hpp"
#include "stores/sqlite/link/schema_trust.hpp"

namespace holdfast::sqlite {

namespace {

// Of the header: https://www.sqlite.org/fileformat.html.
constexpr int version_at = 18;
constexpr unsigned char wal_version = 2;

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

broken failed(sqlite3* db, int code, const std::string& path) {
  if (code != SQLITE_READONLY_ROLLBACK) return broken{request_error_of(db, code, path)};
  return broken{{{errc::unavailable, path + "-journal has an interrupted change of the file; the next client "
                                            "that opens the file takes it back"},
                 true,
                 false}};
}

}  // namespace

file_reader::file_reader(const std::string& path, std::chrono::milliseconds limit)
    : path_{path}, limit_{limit} {
  try {
    begin();
  } catch (...) {
    close();
    throw;
  }
}

/// Chooses the locks. In WAL mode SQLite would make the -wal and the -shm in order to take them.
void file_reader::begin() {
  open("?readonly_shm=1");
  // Nobody removes the -wal, and no transaction of a rollback journal is in the middle of the file, while
  // this is held. SQLite keeps it for the first query. If it cannot be had, the query waits for it.
  if (sqlite3_file* const file = opened()) file->pMethods->xLock(file, SQLITE_LOCK_SHARED);
  struct stat wal{};
  if (::lstat((path_ + "-wal").c_str(), &wal) == 0 || !is_in_wal_mode() || has_content(path_ + "-journal"))
    return;
  // Nobody has the file open in WAL mode, so it is all there is.
  close();
  open("?immutable=1");
}

void file_reader::open(const char* parameters) {
  constexpr int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
                        SQLITE_OPEN_NOFOLLOW;
  const int code = sqlite3_open_v2(uri_of(path_, parameters).c_str(), &db_, flags, nullptr);
  if (code != SQLITE_OK) throw failed(db_, code, path_);
  trust_no_schema(db_);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_busy_timeout(db_, static_cast<int>(limit_.count()));
  const auto is_late = [](void* self) {
    return std::chrono::steady_clock::now() >= static_cast<file_reader*>(self)->until_ ? 1 : 0;
  };
  sqlite3_progress_handler(db_, 1000, is_late, this);
}

void file_reader::close() noexcept { sqlite3_close(std::exchange(db_, nullptr)); }

std::int64_t file_reader::number(const std::string& query) {
  sqlite3_stmt* statement = nullptr;
  int code = sqlite3_prepare_v2(db_, query.c_str(), -1, &statement, nullptr);
  if (code == SQLITE_OK) code = sqlite3_step(statement);
  const std::int64_t value = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
  sqlite3_finalize(statement);
  if (code != SQLITE_ROW && code != SQLITE_DONE) throw failed(db_, code, path_);
  return value;
}

bool file_reader::is_in_wal_mode() const {
  unsigned char version = 0;
  sqlite3_file* const file = opened();
  return file != nullptr && file->pMethods->xRead(file, &version, 1, version_at) == SQLITE_OK &&
         version == wal_version;
}

sqlite3_file* file_reader::opened() const {
  sqlite3_file* file = nullptr;
  if (sqlite3_file_control(db_, "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file)) != SQLITE_OK)
    return nullptr;
  return file != nullptr && file->pMethods != nullptr ? file : nullptr;
}

}  // namespace holdfast::sqlite
