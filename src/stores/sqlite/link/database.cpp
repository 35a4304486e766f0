// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/link/database.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <sys/stat.h>
#include <thread>
#include <utility>
#include <variant>

#include "holdfast/error.hpp"
#include "stores/sql/protocol/notification.hpp"
#include "stores/sqlite/protocol/script.hpp"
#include "stores/sqlite/protocol/statements.hpp"

namespace holdfast::sqlite {

namespace {

using namespace std::chrono_literals;

constexpr duration sweep_again = 100ms;  // where one sweep does not remove all
constexpr std::int64_t sweep_rows = 256;

/// Every name that a statement may take as a parameter: those of routines, values that the link adds, and
/// values that a statement passes to later ones.
constexpr auto slot_names = std::to_array<std::string_view>(
    {"name",    "owner",    "client", "token", "weight", "capacity", "ttl",   "wait",
     "idle",    "metadata", "now",    "floor", "keep",   "every",    "limit", "outcome",
     "granted", "head",     "dead",   "after", "upto",   "last",     "most"});
constexpr int no_slot = -1;

constexpr int slot_of(std::string_view name) {
  const auto found = std::find(slot_names.begin(), slot_names.end(), name);
  return found == slot_names.end() ? no_slot : static_cast<int>(found - slot_names.begin());
}

std::int64_t micros(std::chrono::nanoseconds t) {
  return std::chrono::duration_cast<std::chrono::microseconds>(t).count();
}

}  // namespace

/// The values for the parameters of one routine. Texts stay where they are, in the call.
class database::inputs {
 public:
  void set(std::string_view name, std::int64_t value) { cell_at(slot_of(name)) = {kind::number, value, {}}; }
  void set(int slot, const sql::parameter& value) {
    switch (value.type) {
      case sql::parameter::kind::number:
      case sql::parameter::kind::flag: cell_at(slot) = {kind::number, value.number, {}}; break;
      case sql::parameter::kind::text: cell_at(slot) = {kind::text, 0, value.text}; break;
      case sql::parameter::kind::bytes: cell_at(slot) = {kind::blob, 0, value.text}; break;
      case sql::parameter::kind::list: break;  // no routine here takes one
    }
  }
  /// Takes a value from a row of a query.
  void capture(int slot, sqlite3_stmt* from, int column) {
    const bool null = sqlite3_column_type(from, column) == SQLITE_NULL;
    cell_at(slot) = {null ? kind::null : kind::number, sqlite3_column_int64(from, column), {}};
  }
  [[nodiscard]] int bind(sqlite3_stmt* to, int parameter, int slot) const {
    const cell& c = cells_.at(static_cast<std::size_t>(slot));
    switch (c.type) {
      case kind::null: return sqlite3_bind_null(to, parameter);
      case kind::number: return sqlite3_bind_int64(to, parameter, c.value);
      case kind::text:
        return sqlite3_bind_text(to, parameter, c.bytes.data(), static_cast<int>(c.bytes.size()),
                                 SQLITE_STATIC);
      case kind::blob:
        return sqlite3_bind_blob(to, parameter, c.bytes.data(), static_cast<int>(c.bytes.size()),
                                 SQLITE_STATIC);
    }
    return SQLITE_MISUSE;
  }

 private:
  enum class kind : std::uint8_t { null, number, text, blob };
  struct cell {
    kind type = kind::null;
    std::int64_t value = 0;
    std::string_view bytes;
  };
  cell& cell_at(int slot) { return cells_.at(static_cast<std::size_t>(slot)); }

  std::array<cell, slot_names.size()> cells_;
};

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
    // If several processes switch one new file to WAL at the same moment, SQLite refuses all but one at
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
  for (const sql::script& each : sql::scripts(settings_.names)) {
    routine& r = routines_[each.routine];
    for (const std::string_view name : each.parameters) r.parameters.push_back(slot_of(name));
    r.script = prepare(each.statements);
  }
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
  routines_.clear();
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
  const sql::naming& names = settings_.names;
  if (number(count_of_tables(names).c_str()) == 3) return;
  if (make_ == creation::forbidden) throw absent{};
  execute("BEGIN IMMEDIATE");
  execute(("PRAGMA application_id = " + std::to_string(application_id)).c_str());
  execute(("PRAGMA user_version = " + std::to_string(schema_version)).c_str());
  for (const sql::statement& s : sql::statements_of(sql::text::schema, names)) execute(s.text.c_str());
  execute("COMMIT");
}

/// The lease clock starts anew with each boot of the machine, and every process of the last boot is gone.
void database::expire_former_boot() {
  read_clocks();
  // Reads before it locks: an opening that has nothing to write must not wait for a writer.
  const std::string any = "SELECT EXISTS (SELECT 1 FROM " + settings_.names.quoted("claims") +
                          " WHERE expires - ttl > " + std::to_string(lease_now_us_) + ")";
  if (number(any.c_str()) == 0) return;
  statements end = prepare(sql::statements_of(sql::text::former_boot, settings_.names));
  execute("BEGIN IMMEDIATE");
  read_clocks();  // again: other clients have renewed their claims until now
  inputs in;
  in.set("now", lease_now_us_);
  std::vector<store::client_notification> none;
  static_cast<void>(carry_out(end, in, none));
  execute("COMMIT");
}

void database::read_clocks() {
  lease_now_us_ = micros(settings_.lease_clock().time_since_epoch());
  wall_now_us_ = micros(settings_.wall_clock().time_since_epoch());
}

database_identity database::identity_now() const noexcept {
  return {file_identity::of(settings_.path.c_str()), file_identity::of(wal_.c_str()),
          file_identity::of(shm_.c_str())};
}

bool database::begin(access mode) {
  sqlite3_stmt* const statement = mode == access::write ? begin_write_ : begin_read_;
  const int code = sqlite3_step(statement);
  sqlite3_reset(statement);
  if ((code & 0xFF) == SQLITE_BUSY) return false;
  if (code != SQLITE_DONE) throw failed(code);
  read_clocks();
  return true;
}

void database::commit() {
  const int code = sqlite3_step(commit_);
  sqlite3_reset(commit_);
  // In WAL mode, a commit that fails has not happened: readers see it by a header that is written last.
  if (code != SQLITE_DONE) throw failed(code);
}

void database::roll_back() noexcept { sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr); }

tickets::reply database::carry_out(const tickets::request& request, const owner_id& client,
                                   std::vector<store::client_notification>& notifications) {
  if (const auto* const renewal = std::get_if<tickets::renew>(&request)) return renew(*renewal);
  return sql::reply_of(request, call(sql::call_of(request, client), notifications));
}

/// One by one: unlike a server, SQLite takes no packed holds apart.
tickets::kept database::renew(const tickets::renew& request) {
  tickets::kept answer;
  std::vector<store::client_notification> none;
  for (const store::hold& h : request.holds) {
    const sql::call one{
        "renew",
        {sql::parameter::of_text(h.name), sql::parameter::of_bytes(h.owner.bytes()),
         sql::parameter::of(static_cast<std::int64_t>(h.token.value())), sql::parameter::of(h.ttl.count())}};
    answer.each.push_back(sql::number_at(call(one, none).at(0), 0) != 0);
  }
  return answer;
}

/// Returns the rows that a server's routine would return.
std::vector<sql::row> database::call(const sql::call& of,
                                     std::vector<store::client_notification>& notifications) {
  auto& [parameters, script] = routines_.at(of.routine);
  inputs in;
  in.set("now", lease_now_us_);
  in.set("floor", wall_now_us_);
  for (std::size_t i = 0; i < parameters.size(); ++i) in.set(parameters[i], of.in.at(i));
  run result = carry_out(script, in, notifications);
  if (result.ended_at == "capacity") {  // the name was never used before
    static_cast<void>(carry_out(routines_.at("open").script, in, notifications));
    result = carry_out(script, in, notifications);
  }
  const bool answers =
      std::any_of(script.begin(), script.end(), [](const prepared& p) { return p.is_answer; });
  // Other routines return whether they have changed something. The statement `next` finds nobody to serve.
  if (!answers) result.rows.push_back({std::int64_t{result.ended_at.empty() || result.ended_at == "next"}});
  return std::move(result.rows);
}

void database::sweep_if_due() {
  // After the clock has started anew, that time is far off, and means nothing.
  const std::int64_t left = next_sweep_us_ - lease_now_us_;
  if (left > 0 && left <= settings_.sweep_every.count()) return;
  std::vector<store::client_notification> none;
  const auto rows = call(sql::sweep_call(settings_.keep_idle, settings_.sweep_every, sweep_rows), none);
  const bool more = !rows.empty() && sql::number_at(rows[0], 0) != 0;
  next_sweep_us_ = lease_now_us_ + (more ? sweep_again : settings_.sweep_every).count();
}

namespace {

sql::value value_at(sqlite3_stmt* from, int column) {
  switch (sqlite3_column_type(from, column)) {
    case SQLITE_NULL: return std::monostate{};
    case SQLITE_INTEGER: return sqlite3_column_int64(from, column);
    default: break;
  }
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(from, column));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(from, column));
  return bytes == nullptr ? std::string{} : std::string{bytes, size};
}

owner_id id_at(sqlite3_stmt* from, int column) {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(from, column));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(from, column));
  return owner_id::from_bytes({bytes, bytes == nullptr ? 0 : size}).value_or(owner_id{});
}

}  // namespace

database::run database::carry_out(statements& script, inputs& in,
                                  std::vector<store::client_notification>& notifications) {
  run result;
  for (prepared& p : script) {
    for (std::size_t i = 0; i < p.parameters.size(); ++i) {
      const int code = in.bind(p.statement, static_cast<int>(i) + 1, p.parameters[i]);
      if (code != SQLITE_OK) throw failed(code);
    }
    bool found = false;
    int code = SQLITE_ROW;
    while ((code = sqlite3_step(p.statement)) == SQLITE_ROW) {
      if (p.is_tell) {
        notifications.push_back(
            {id_at(p.statement, 0),
             sql::notification_of(id_at(p.statement, 1), sqlite3_column_int64(p.statement, 2))});
      } else if (p.is_answer) {
        sql::row row;
        for (int c = 0; c < static_cast<int>(p.columns.size()); ++c) row.push_back(value_at(p.statement, c));
        result.rows.push_back(std::move(row));
      }
      for (int c = 0; !found && c < static_cast<int>(p.columns.size()); ++c) {
        const int slot = p.columns[static_cast<std::size_t>(c)];
        if (slot != no_slot) in.capture(slot, p.statement, c);
      }
      found = true;
    }
    if (code == SQLITE_DONE && !p.is_query) found = sqlite3_changes(db_) > 0;
    sqlite3_reset(p.statement);
    if (code != SQLITE_DONE) throw failed(code);
    if (!found && !p.optional) {
      result.ended_at = p.label;
      return result;
    }
  }
  return result;
}

database::statements database::prepare(const std::vector<sql::statement>& texts) {
  statements all;
  for (const sql::statement& s : texts) {
    prepared& p = all.emplace_back();
    const std::string text = settings_.revise ? settings_.revise(s) : s.text;
    const int code = sqlite3_prepare_v3(db_, text.data(), static_cast<int>(text.size()),
                                        SQLITE_PREPARE_PERSISTENT, &p.statement, nullptr);
    if (code != SQLITE_OK) throw failed(code);
    p.label = s.label;
    p.optional = s.optional;
    p.is_tell = s.label == "tell";
    p.is_query = sqlite3_column_count(p.statement) > 0;
    p.is_answer = p.is_query && sql::is_answer(s.label);
    for (int i = 1; i <= sqlite3_bind_parameter_count(p.statement); ++i) {
      p.parameters.push_back(
          slot_of(std::string_view{sqlite3_bind_parameter_name(p.statement, i)}.substr(1)));
    }
    for (int c = 0; c < sqlite3_column_count(p.statement); ++c) {
      p.columns.push_back(p.is_tell ? no_slot : slot_of(sqlite3_column_name(p.statement, c)));
    }
  }
  return all;
}

void database::execute(const char* text) {
  const int code = sqlite3_exec(db_, text, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) throw failed(code);
}

std::int64_t database::number(const char* query) {
  sqlite3_stmt* statement = nullptr;
  int code = sqlite3_prepare_v2(db_, query, -1, &statement, nullptr);
  if (code == SQLITE_OK) code = sqlite3_step(statement);
  const std::int64_t value = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
  sqlite3_finalize(statement);
  if (code != SQLITE_ROW) throw failed(code);
  return value;
}

std::string count_of_tables(const sql::naming& names) {
  return "SELECT count(*) FROM sqlite_master WHERE name IN ('" + names.bare("locks") + "', '" +
         names.bare("claims") + "', '" + names.bare("sweeps") + "')";
}

void trust_no_schema(sqlite3* db) {
  constexpr std::array off{SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW,
                           SQLITE_DBCONFIG_ENABLE_FKEY, SQLITE_DBCONFIG_TRUSTED_SCHEMA};
  for (const int option : off) sqlite3_db_config(db, option, 0, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  constexpr int longest_value = 16 << 20;  // bytes; as the other stores
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, longest_value);
}

broken database::failed(int code) const { return broken{request_error_of(db_, code, settings_.path)}; }

}  // namespace holdfast::sqlite
