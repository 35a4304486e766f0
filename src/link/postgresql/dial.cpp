#include "link/postgresql/dial.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <poll.h>
#include <string>
#include <string_view>
#include <vector>

#include "link/postgresql/connection.hpp"
#include "link/postgresql/handle.hpp"
#include "protocol/sql/postgresql/schema.hpp"
#include "runtime/patience.hpp"

namespace holdfast::postgresql {

using runtime::cut_off;
using runtime::patience;

namespace {

/// Whatever role, database and server have for others.
constexpr const char* session_settings =
    // Who comes by a row's lock has to see what the one before has written.
    "SET default_transaction_isolation = 'read committed';"
    "SET client_min_messages = warning;"
    // Plans are made once a session, and stay while the tables grow: the first of them may not be for tables
    // of a page, which are cheapest read from end to end.
    "SET plan_cache_mode = force_generic_plan;"
    "SET enable_seqscan = off;"
    "SET jit = off;"  // which would take a forbidden scan, of the table of one row, for an expensive one
    // Dead clients and lines are noticed by the server itself within about 25 seconds, less than the usual
    // ttl: it would keep for hours what they left half done.
    "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3;"
    "SET tcp_user_timeout = 25000";

/// Of the advisory lock of a session, by its client's id.
constexpr const char* key = "('x' || left($1, 16))::bit(64)::bigint";

/// A session on its way to readiness.
class opening {
 public:
  opening(const settings& to, const owner_id& client, int stop)
      : to_{to}, client_{client}, limit_{to.link.connect_limit, stop} {}

  [[nodiscard]] handle run(const std::optional<owner_id>& former) {
    connect();
    check_server();
    if (former) end_sessions(*former);
    if (former != client_) take_lock();
    ask(session_settings);
    if (to_.link.session) bind_to_session(*to_.link.session);
    provide_tables();
    ask("LISTEN " + quoted(sql::postgresql::channel_of(client_)));
    check_session();
    return std::move(session_);
  }

  [[nodiscard]] bool provide() {
    connect();
    check_server();
    ask(session_settings);
    return provide_tables();
  }

 private:
  static std::string quoted(const std::string& name) { return '"' + name + '"'; }
  static std::string application(const owner_id& client) { return "holdfast " + client.hex(); }

  void connect();
  void check_server();
  void check_line(const std::string& backend);
  void check_session();
  void end_sessions(const owner_id& of);
  void take_lock();
  void bind_to_session(std::chrono::milliseconds timeout);
  bool provide_tables();
  bool make_tables();
  [[nodiscard]] bool is_complete();
  [[nodiscard]] std::int64_t layout();
  [[nodiscard]] std::optional<std::string> foreign_table();
  result ask(const std::string& statement, const std::vector<std::string>& values = {});
  [[nodiscard]] std::string text(const std::string& statement, const std::vector<std::string>& values = {});

  const settings& to_;
  const owner_id& client_;
  patience limit_;
  handle session_;
  std::string backend_;  // behind a pooler
};

void opening::connect() {
  std::vector<const char*> names;
  std::vector<const char*> values;
  for (const auto& [name, value] : to_.connection) {
    names.push_back(name.c_str());
    values.push_back(value.c_str());
  }
  const std::string as = application(client_);  // unique to this client: see end_sessions
  for (const auto& [name, value] :
       {std::pair{"application_name", as.c_str()}, std::pair{"client_encoding", "UTF8"},
        std::pair<const char*, const char*>{nullptr, nullptr}}) {
    names.push_back(name);
    values.push_back(value);
  }
  session_.reset(PQconnectStartParams(names.data(), values.data(), 0));
  if (!session_) throw cut_off{{errc::exhausted, "out of memory"}};
  make_talkative(session_.get());
  limit_.begin("the connection");
  for (auto state = PGRES_POLLING_WRITING; state != PGRES_POLLING_OK; state = PQconnectPoll(session_.get())) {
    if (state == PGRES_POLLING_FAILED || PQstatus(session_.get()) == CONNECTION_BAD) {
      throw refused_entry(session_.get());
    }
    limit_.wait(PQsocket(session_.get()), state == PGRES_POLLING_READING ? POLLIN : POLLOUT);
  }
  limit_.begin("the server's first answers");
}

/// What is asked before anything is written.
void opening::check_server() {
  constexpr int oldest = 130000;
  const int version = PQserverVersion(session_.get());
  if (version < oldest) {
    throw cut_off{{errc::foreign_store, "the server is PostgreSQL " + std::to_string(version / 10000) +
                                            "; Holdfast needs 13 or newer"},
                  false};
  }
  const result r =
      ask("SELECT pg_backend_pid(), pg_is_in_recovery(), current_setting('transaction_read_only'), "
          "current_setting('server_encoding')");
  enum column { backend, standby, read_only, encoding };
  const auto said = [&](column which) { return std::string{PQgetvalue(r.get(), 0, which)}; };
  check_line(said(backend));
  if (said(standby) == "t") {
    throw cut_off{{errc::unavailable, "the server is a read-only standby; name the primary"}};
  }
  if (said(read_only) == "on") {
    throw cut_off{
        {errc::unavailable, "transactions are read-only here; look for a default_transaction_read_only"}};
  }
  if (said(encoding) != "UTF8" && said(encoding) != "SQL_ASCII") {
    throw cut_off{{errc::foreign_store, "the database's encoding is " + said(encoding) +
                                            ", which cannot hold every name; name one whose is UTF8"},
                  false};
  }
}

/// A pooler cannot know which process a connection will get, and names one of its own invention at first.
/// What takes a connection back after each transaction loses what the session has: words, plans, and its
/// settings, to others.
void opening::check_line(const std::string& backend) {
  if (backend == std::to_string(PQbackendPID(session_.get()))) return;
  if (to_.link.session) {
    throw cut_off{{errc::unavailable,
                   "there is a connection pooler before the server, and with mode=session locks end with the "
                   "session: connect directly"},
                  false};
  }
  if (!to_.pooled) {
    throw cut_off{
        {errc::unavailable,
         "there is a connection pooler before the server: connect directly, or, where it pools sessions "
         "and not transactions or statements, say so with pooler=session"},
        false};
  }
  backend_ = backend;
}

/// A pooler of transactions is likely to have shown itself by now where others use it.
void opening::check_session() {
  if (backend_.empty() || text("SELECT pg_backend_pid()") == backend_) return;
  throw cut_off{{errc::unavailable,
                 "the connection pooler has changed the session in between: it does not pool sessions, as "
                 "pooler=session says; connect directly"},
                false};
}

/// Nobody else bears that name, which is random. The server ends a session when it gets to it; then the lock
/// is free that each session has. It stays ours where it is of our own name; of another's we leave it free
/// for others, who may be asking meanwhile whether that session is over.
void opening::end_sessions(const owner_id& of) {
  ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND pid <> "
      "pg_backend_pid() AND usename = current_user",
      {application(of)});
  limit_.begin("the end of the former connection at the server");
  if (of == client_) {
    ask(std::string{"SELECT pg_advisory_lock("} + key + ')', {of.hex()});
  } else {
    ask(std::string{"SELECT pg_advisory_lock_shared("} + key + ')', {of.hex()});
    ask(std::string{"SELECT pg_advisory_unlock_shared("} + key + ')', {of.hex()});
  }
  limit_.begin("the server's answers");
}

/// By which others know that this session lives.
void opening::take_lock() {
  if (text(std::string{"SELECT pg_try_advisory_lock("} + key + ')', {client_.hex()}) == "t") return;
  throw cut_off{{errc::unavailable, "the advisory lock of this session's number is taken"}};
}

/// The server ends it when it has been silent for so long: no sooner, or its client would still believe in
/// it, and not much later, whatever role, database and system have for others. What was sent and is not
/// acknowledged may be a word that came after the last answer.
void opening::bind_to_session(std::chrono::milliseconds timeout) {
  constexpr int knows_idle_sessions = 140000;
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(timeout).count();
  const auto third = std::max<std::int64_t>(1, seconds / 3);
  const auto set = [this](const char* name, std::int64_t value) {
    ask("SET " + std::string{name} + " = " + std::to_string(value));
  };
  ask("SELECT set_config('holdfast.session', $1, false)", {client_.hex()});
  set("tcp_keepalives_idle", third);
  set("tcp_keepalives_interval", third);
  set("tcp_keepalives_count", (seconds + third - 1) / third);
  set("tcp_user_timeout", timeout.count());
  if (PQserverVersion(session_.get()) >= knows_idle_sessions) set("idle_session_timeout", timeout.count());
}

/// \return the layout at the server, zero where there is none.
std::int64_t opening::layout() {
  if (text("SELECT to_regprocedure($1) IS NOT NULL", {to_.names.quoted("layout") + "()"}) != "t") return 0;
  const std::string said = text("SELECT " + to_.names.quoted("layout") + "()");
  std::int64_t number = 0;
  const auto read = std::from_chars(said.data(), said.data() + said.size(), number);
  return read.ec == std::errc{} ? number : 0;  // a routine of somebody else's
}

/// Whether all tables and routines are there: somebody may have removed some.
bool opening::is_complete() {
  std::string statement = "SELECT true";
  std::vector<std::string> names;
  const auto add = [&](const char* look_up, std::string_view part) {
    names.push_back(to_.names.quoted(part));
    statement.append(" AND ").append(look_up).append("($").append(std::to_string(names.size()));
    statement += ") IS NOT NULL";
  };
  for (const auto part : sql::postgresql::tables) add("to_regclass", part);
  for (const auto part : sql::postgresql::routines) add("to_regproc", part);
  return text(statement, names) == "t";
}

/// A table that has one of our names, but not our columns.
std::optional<std::string> opening::foreign_table() {
  for (const auto part : sql::postgresql::tables) {
    const std::string columns = text(
        "SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum) "
        "FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped",
        {to_.names.quoted(part)});
    if (!columns.empty() && columns != sql::postgresql::columns_of(part)) return to_.names.quoted(part);
  }
  return std::nullopt;
}

/// \return whether it has made any.
bool opening::provide_tables() {
  const std::int64_t found = layout();
  if (found == sql::postgresql::layout_number && is_complete()) return false;
  if (found > sql::postgresql::layout_number) {
    throw cut_off{{errc::foreign_store, "the table " + to_.names.plain() + " was made by a newer Holdfast"},
                  false};
  }
  if (const auto theirs = foreign_table()) {
    throw cut_off{
        {errc::foreign_store, "there is a table " + *theirs + " that is not ours; name another with table="},
        false};
  }
  if (!to_.create) {
    throw cut_off{
        {errc::unavailable,
         "there is no table " + to_.names.plain() +
             ", or some part of it is missing, and create=0 forbids to make it; see holdfast schema"},
        false};
  }
  return make_tables();
}

/// One client at a time: those who come meanwhile find them made.
bool opening::make_tables() {
  try {
    ask("BEGIN");
    ask("SELECT pg_advisory_xact_lock(" + sql::postgresql::making_key(to_.names) + ")");
    const bool missing = layout() != sql::postgresql::layout_number || !is_complete();
    if (missing) ask(sql::postgresql::schema(to_.names));
    ask("COMMIT");
    return missing;
  } catch (const cut_off& c) {
    if (c.why.code ==
        errc::foreign_store) {  // a routine of somebody else's, say, or a schema that is missing
      throw cut_off{{c.why.code, "the table " + to_.names.plain() + " cannot be made: " + c.why.what}, false};
    }
    if (c.why.code != errc::permission_denied) throw;
    throw cut_off{{errc::permission_denied, "there is no table " + to_.names.plain() +
                                                ", or some part of it is missing, and this user may not make "
                                                "it; have one who may run: holdfast schema "
                                                "URL --apply (" +
                                                c.why.what + ")"},
                  false};
  }
}

/// \return the last statement's result. \throws cut_off where one is refused.
result opening::ask(const std::string& statement, const std::vector<std::string>& values) {
  std::vector<const char*> texts;
  texts.reserve(values.size());
  for (const std::string& v : values) texts.push_back(v.c_str());
  PGconn* const to = session_.get();
  const int sent = values.empty() ? PQsendQuery(to, statement.c_str())  // may be several statements
                                  : PQsendQueryParams(to, statement.c_str(), static_cast<int>(texts.size()),
                                                      nullptr, texts.data(), nullptr, nullptr, 0);
  if (sent != 1) throw cut_off{failure_of(to)};
  result last;
  while (true) {
    while (PQisBusy(to) != 0) {
      limit_.wait(PQsocket(to), POLLIN);
      if (PQconsumeInput(to) != 1) throw cut_off{failure_of(to)};
    }
    result next{PQgetResult(to)};
    if (!next) return last;
    const auto status = PQresultStatus(next.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
      const store::trouble why = refusal_of(next.get()).why;
      throw cut_off{why.what, why.passing};
    }
    last = std::move(next);
  }
}

std::string opening::text(const std::string& statement, const std::vector<std::string>& values) {
  const result r = ask(statement, values);
  return r && PQntuples(r.get()) > 0 ? PQgetvalue(r.get(), 0, 0) : "";
}

}  // namespace

std::unique_ptr<sql::connection> dial(const settings& to, const owner_id& client,
                                      const std::optional<owner_id>& former, int stop) {
  return std::make_unique<connection>(opening{to, client, stop}.run(former), client, to.names);
}

bool provide(const settings& to, int stop) { return opening{to, owner_id::random(), stop}.provide(); }

}  // namespace holdfast::postgresql
