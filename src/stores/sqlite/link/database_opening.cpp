// How a database is opened or made, and how the file is told from others.

#include <cerrno>
#include <chrono>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <utility>

#include "holdfast/error.hpp"
#include "stores/sqlite/link/database.hpp"
#include "stores/sqlite/link/schema_trust.hpp"
#include "stores/sqlite/protocol/statements.hpp"

namespace holdfast::sqlite {

using namespace std::chrono_literals;

std::unique_ptr<database> database::find(const settings& s) {
  struct stat info{};
  const bool is_there = ::lstat(s.path.c_str(), &info) == 0 || (errno != ENOENT && errno != ENOTDIR);
  if (!is_there || (S_ISREG(info.st_mode) && info.st_size == 0)) return nullptr;
  try {
    return std::unique_ptr<database>{new database{s, creation::forbidden}};
  } catch (const absent&) {
    return nullptr;
  }
}

database::database(const settings& s, creation make) : settings_{s}, make_{make} {
  const auto until = std::chrono::steady_clock::now() + settings_.opening_limit;
  try {
    // Where several processes switch one new file to WAL at the same moment, SQLite refuses all but one at
    // once: each holds a lock that the others would wait for.
    while (!open() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
    if (db_ == nullptr) open_or_throw();
  } catch (const broken& b) {
    close();
    throw error{b.cause.reason.code, b.cause.reason.message};
  } catch (const replaced&) {
    close();
    throw error{errc::unavailable, settings_.path + " was replaced or removed while it was opened"};
  } catch (...) {
    close();
    throw;
  }
}

/// False, with nothing open, when other processes keep the file busy, or have replaced it.
bool database::open() {
  try {
    open_or_throw();
    return true;
  } catch (const broken&) {
    if ((sqlite3_errcode(db_) & 0xFF) != SQLITE_BUSY) throw;
    close();
    return false;
  } catch (const replaced&) {
    close();
    return false;
  }
}

void database::open_or_throw() {
  const database_identity before = identity_now();
  open_file();
  make_tables();
  expire_former_boot();
  const auto plain = [this](const char* text) { return prepare({{text, false, text}}).at(0).statement; };
  begin_read_ = plain("BEGIN");
  begin_write_ = plain("BEGIN IMMEDIATE");
  commit_ = plain("COMMIT");
  for (const auto& statements : sql::statements_of_all_kinds(settings_.names))
    tasks_.push_back(prepare(statements));
  open_ = prepare(sql::statements_of(sql::text::open, settings_.names));
  sweep_ = prepare(sql::statements_of(sql::text::sweep, settings_.names));
  sqlite3_busy_timeout(db_, 0);  // from here on, waiting is done by the callers
  // The paths may have come to lead to other files since these were opened: they would be taken for those.
  identity_ = identity_now();
  if (has_moved(before)) throw replaced{};
}

/// Whether the path leads to another file than the one that SQLite has opened, or to none; or one of its
/// neighbours was exchanged meanwhile. SQLite does not tell which of those it has.
bool database::has_moved(const database_identity& before) const {
  const auto was_exchanged = [](const file_identity& then, const file_identity& now) {
    return then != file_identity{} && then != now;
  };
  if (was_exchanged(before.wal, identity_.wal) || was_exchanged(before.shm, identity_.shm)) return true;
  int moved = 0;
  const int code = sqlite3_file_control(db_, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  return code == SQLITE_OK && moved != 0;
}

database::~database() { close(); }

void database::close() noexcept {
  tasks_.clear();
  if (db_ == nullptr) return;
  while (sqlite3_stmt* any = sqlite3_next_stmt(db_, nullptr)) sqlite3_finalize(any);
  sqlite3_close(std::exchange(db_, nullptr));
}

void database::open_file() {
  check_neighbours(settings_.path);
  // The path was resolved when the store was opened. A link that is in it now was made by another process.
  const int flags = SQLITE_OPEN_READWRITE | (make_ == creation::allowed ? SQLITE_OPEN_CREATE : 0) |
                    SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOFOLLOW;
  const int code = sqlite3_open_v2(settings_.path.c_str(), &db_, flags, nullptr);
  if (code != SQLITE_OK) throw failed(code);
  trust_no_schema(db_);
  sqlite3_busy_timeout(db_, static_cast<int>(settings_.opening_limit.count() / 1000));
  // The owner of the file is checked first: not a byte of a foreign file is changed.
  const std::int64_t objects = number("SELECT count(*) FROM sqlite_master");
  const std::int64_t application = number("PRAGMA application_id");
  const std::int64_t version = number("PRAGMA user_version");
  if (objects > 0 && application != application_id) {
    throw error{errc::foreign_store,
                settings_.path + " is a database of another program; choose another path"};
  }
  if (version > schema_version) {
    throw error{errc::foreign_store, settings_.path + " was made by a newer Holdfast (layout " +
                                         std::to_string(version) + ", and this one knows " +
                                         std::to_string(schema_version) + ")"};
  }
  if (objects == 0 && make_ == creation::forbidden) throw absent{};
  // WAL: readers and one writer do not block one another, and a commit survives a crash of any process
  // without waiting for the disk. A crash of the machine may undo commits; the boot check ends those leases.
  // Pages are small, since a commit writes whole pages and touches a row in each.
  if (objects == 0) execute("PRAGMA page_size = 1024");
  execute("PRAGMA journal_mode = WAL");
  execute("PRAGMA synchronous = NORMAL");
}

void database::make_tables() {
  const auto exists = [this](const std::string& table) {
    return number(("SELECT count(*) FROM sqlite_master WHERE name = '" + table + "'").c_str()) > 0;
  };
  const sql::tables& names = settings_.names;
  if (exists(names.locks) && exists(names.claims) && exists(names.sweeps)) return;
  if (make_ == creation::forbidden) throw absent{};
  execute("BEGIN IMMEDIATE");
  execute(("PRAGMA application_id = " + std::to_string(application_id)).c_str());
  execute(("PRAGMA user_version = " + std::to_string(schema_version)).c_str());
  for (const sql::statement& s : sql::statements_of(sql::text::schema, names)) execute(s.text.c_str());
  execute("COMMIT");
}

}  // namespace holdfast::sqlite
