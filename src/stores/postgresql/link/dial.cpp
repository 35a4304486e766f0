#include "stores/postgresql/link/dial.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <poll.h>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "runtime/io_deadline.hpp"
#include "stores/postgresql/link/connection.hpp"
#include "stores/postgresql/link/handle.hpp"
#include "stores/postgresql/protocol/schema.hpp"

namespace holdfast::postgresql {

using runtime::connection_error;
using runtime::io_deadline;

namespace {

/// Whatever role, database and server have for others.
constexpr const char* session_settings =
    // Who comes by a row's lock has to see what the one before has written.
    "SET default_transaction_isolation = 'read committed';"
    "SET client_min_messages = warning;"
    // Calls go one behind another, renewals among them: none waits for long for a row that somebody else has
    // locked. It is asked for again. A shorter limit of the role or the database stays.
    "SELECT set_config('lock_timeout', '1s', false)"
    " WHERE current_setting('lock_timeout')::interval NOT BETWEEN '1 ms' AND '1 s';"
    // Plans are made once a session, and stay while the tables grow: the first of them may not be for tables
    // of a page, which are cheapest read from end to end.
    "SET plan_cache_mode = force_generic_plan;"
    "SET enable_seqscan = off;"
    "SET jit = off;"  // which would take a forbidden scan, of the table of one row, for an expensive one
    // Dead clients and lines are noticed by the server itself within about 25 seconds, less than the usual
    // ttl: it would keep for hours what they left half done.
    "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3;"
    "SET tcp_user_timeout = 25000";

/// Behind `owners`: how many tables and routines there are, whether `layout` ($2) and `revision` ($3) are,
/// and what is not trusted, with its owner.
constexpr const char* inventory_query = R"sql(
SELECT count(*) FILTER (WHERE kind = 'table'), count(*) FILTER (WHERE kind = 'routine'),
       count(*) FILTER (WHERE kind = 'routine' AND name = $2::text),
       count(*) FILTER (WHERE kind = 'routine' AND name = $3::text),
       min('the ' || kind || ' ' || name || ' belongs to ' || pg_get_userbyid(owner))
         FILTER (WHERE owner NOT IN (SELECT oid FROM trusted))
  FROM part
)sql";

/// The first of the schemas in $1 that has the table or the routine `layout` of the names in $2 and $3; or
/// else the first of them.
constexpr const char* schema_query = R"sql(
SELECT n.nspname
  FROM unnest($1::name[]) WITH ORDINALITY AS s(name, place) JOIN pg_namespace n ON n.nspname = s.name
 WHERE n.oid <> pg_my_temp_schema() AND n.nspname <> 'pg_catalog'
 ORDER BY NOT (EXISTS (SELECT FROM pg_class c WHERE c.relnamespace = n.oid AND c.relname = $2::text)
               OR EXISTS (SELECT FROM pg_proc p WHERE p.pronamespace = n.oid AND p.proname = $3::text)),
          s.place
 LIMIT 1
)sql";

/// Ends the sessions of an application name, and has a row for each that is not over yet. Anybody may bear
/// that name, but only those count that have logged in as this one has: a role that the login takes on is
/// something else.
constexpr const char* ending_query =
    "SELECT pg_terminate_backend(a.pid) FROM pg_stat_get_activity(NULL) a WHERE a.application_name = $1 AND "
    "a.pid <> pg_backend_pid() AND a.usesysid = (SELECT oid FROM pg_roles WHERE rolname = session_user)";

/// Of the advisory lock of a session, by its client's id.
constexpr const char* key = "('x' || left($1, 16))::bit(64)::bigint";

/// Until the server is asked again. Not at the server, whose clock may be set back meanwhile.
constexpr std::chrono::milliseconds a_while{5};

/// A session on its way to readiness.
class opening {
 public:
  opening(const settings& to, const owner_id& client, int stop)
      : to_{to}, names_{to.names}, client_{client}, limit_{to.link.connect_limit, stop} {}

  [[nodiscard]] handle run(const std::optional<owner_id>& former, sql::provision make) {
    make_ = make;
    connect();
    check_server();
    if (former) end_sessions(*former);
    if (to_.link.session) take_lock();
    ask(session_settings);
    if (to_.link.session) bind_to_session(*to_.link.session);
    check_session();
    provide_tables();
    check_session();
    return std::move(session_);
  }
  /// With the schema in which the tables are; once `run`.
  [[nodiscard]] const sql::naming& names() const { return names_; }

  /// Whether there are no tables, and it was not to make them.
  [[nodiscard]] bool is_bare() const { return bare_; }

  [[nodiscard]] bool provide() {
    connect();
    check_server();
    ask(session_settings);
    const bool made = provide_tables();
    for (const std::string& each : to_.lockers) {
      ask(sql::postgresql::grants(names_, each, sql::postgresql::access::lock));
    }
    for (const std::string& each : to_.lookers) {
      ask(sql::postgresql::grants(names_, each, sql::postgresql::access::look));
    }
    return made;
  }

 private:
  /// Half of the id, as everybody can read it there; the other half stays secret, so that nobody knows the
  /// channel.
  static std::string application(const owner_id& client) { return "holdfast " + client.hex().substr(0, 16); }

  /// What there is at the server, and all of it of somebody who is trusted.
  struct inventory {
    bool has_layout = false;
    bool has_revision = false;
    bool is_complete = false;
  };

  void connect();
  void check_server();
  void settle_names(const std::string& path);
  void check_line(const std::string& backend);
  void check_session();
  void end_sessions(const owner_id& of);
  void take_lock();
  void bind_to_session(std::chrono::milliseconds timeout);
  bool provide_tables();
  bool make_tables(const inventory& there);
  [[nodiscard]] std::string shortage(const inventory& there) const;
  [[nodiscard]] inventory look_around();
  [[nodiscard]] std::int64_t layout(const inventory& there);
  [[nodiscard]] sql::postgresql::revision revision(const inventory& there);
  /// Whether this client can do with what there is; where it must not, throws.
  [[nodiscard]] bool suffices(const inventory& there);
  void await_makers();
  [[nodiscard]] std::string definitions();
  [[nodiscard]] std::optional<std::string> foreign_table();
  result ask(const std::string& statement, const std::vector<std::string>& values = {});
  [[nodiscard]] std::string text(const std::string& statement, const std::vector<std::string>& values = {});

  const settings& to_;
  sql::naming names_;
  const owner_id& client_;
  io_deadline limit_;
  sql::provision make_ = sql::provision::tables;
  bool bare_ = false;
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
  if (!session_) throw connection_error{{errc::exhausted, "out of memory"}};
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

/// What is asked before anything is written, with every name in full: until `settle_names` the search_path is
/// that of the role and the database, in which others may have functions and operators of any name.
void opening::check_server() {
  constexpr int oldest = 130000;
  const int version = PQserverVersion(session_.get());
  if (version < oldest) {
    throw connection_error{
        {errc::foreign_store,
         "the server is PostgreSQL " + std::to_string(version / 10000) + "; Holdfast needs 13 or newer"},
        false};
  }
  const result r = ask(
      "SELECT pg_catalog.pg_backend_pid(), pg_catalog.pg_is_in_recovery(), "
      "pg_catalog.current_setting('transaction_read_only'), pg_catalog.current_setting('server_encoding'), "
      "pg_catalog.current_schemas(false)");
  enum column { backend, standby, read_only, encoding, path };
  const auto said = [&](column which) { return std::string{PQgetvalue(r.get(), 0, which)}; };
  check_line(said(backend));
  if (said(standby) == "t") {
    throw connection_error{{errc::unavailable, "the server is a read-only standby; name the primary"}};
  }
  if (said(read_only) == "on") {
    throw connection_error{
        {errc::unavailable, "transactions are read-only here; look for a default_transaction_read_only"}};
  }
  if (said(encoding) != "UTF8" && said(encoding) != "SQL_ASCII") {
    throw connection_error{
        {errc::foreign_store, "the database's encoding is " + said(encoding) +
                                  ", which cannot hold every name; name one whose is UTF8"},
        false};
  }
  settle_names(said(path));
}

/// From now on nothing is looked for but in pg_catalog, and what is ours in its schema. A table whose schema
/// the URL does not name is looked for along the search_path that this user had until now.
void opening::settle_names(const std::string& path) {
  ask("SET search_path = pg_catalog, pg_temp");
  if (!names_.schema().empty()) return;
  const std::string schema = text(schema_query, {path, names_.bare("locks"), names_.bare("layout")});
  if (schema.empty()) {
    throw connection_error{
        {errc::foreign_store,
         "no schema of this user's search_path is there: create the schema, or name another with table="},
        false};
  }
  if (schema.find_first_of("$\"'{}\\") != std::string::npos) {
    throw connection_error{
        {errc::foreign_store, "the name of the schema " + schema +
                                  " has characters that ours cannot have; name another with table="},
        false};
  }
  names_ = names_.in(schema);
}

/// A pooler cannot know which process a connection will get, and names one of its own invention at first.
/// What takes a connection back after each transaction loses what the session has: words, plans, and its
/// settings, to others.
void opening::check_line(const std::string& backend) {
  if (backend == std::to_string(PQbackendPID(session_.get()))) return;
  if (to_.link.session) {
    throw connection_error{
        {errc::unavailable,
         "there is a connection pooler before the server, and with mode=session locks end with the "
         "session: connect directly"},
        false};
  }
  if (!to_.pooled) {
    throw connection_error{
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
  throw connection_error{
      {errc::unavailable,
       "the connection pooler has changed the session in between: it does not pool sessions, as "
       "pooler=session says; connect directly"},
      false};
}

/// So that nothing that was sent there is carried out later on. The server ends a session when it gets to it,
/// and shows it until all that it held is free. No lock is waited for, which a stranger could have.
void opening::end_sessions(const owner_id& of) {
  limit_.begin("the end of the former connection at the server");
  // The login may end its own sessions; a role that it takes on need not have that right.
  ask("SET ROLE NONE");
  while (!text(ending_query, {application(of)}).empty()) std::this_thread::sleep_for(a_while);
  ask("RESET ROLE");
  limit_.begin("the server's answers");
}

/// By which others know that this session lives.
void opening::take_lock() {
  if (text(std::string{"SELECT pg_try_advisory_lock("} + key + ')', {client_.hex()}) == "t") return;
  throw connection_error{{errc::unavailable, "the advisory lock of this session's number is taken"}};
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

/// Nothing of ours is called before this: a routine of a stranger would run with the rights of this user, and
/// a table of his runs his triggers and defaults. The owner of the schema can put his own in the place of
/// what is there.
opening::inventory opening::look_around() {
  std::string query = sql::postgresql::owners(names_);
  constexpr std::string_view owner = "{OWNER}";
  query.replace(query.find(owner), owner.size(), "$1");
  const result r = ask(query + inventory_query, {to_.owner, names_.bare("layout"), names_.bare("revision")});
  enum column { tables_found, routines_found, layout_found, revision_found, stranger };
  if (PQgetisnull(r.get(), 0, stranger) == 0) {
    throw connection_error{{errc::foreign_store, std::string{PQgetvalue(r.get(), 0, stranger)}.append(
                                                     sql::postgresql::stranger_advice)},
                           false};
  }
  const auto is = [&](column which, std::size_t count) {
    return PQgetvalue(r.get(), 0, which) == std::to_string(count);
  };
  return {is(layout_found, 1), is(revision_found, 1),
          is(tables_found, sql::postgresql::tables.size()) &&
              is(routines_found, sql::postgresql::routines.size())};
}

/// \return the layout at the server, zero where there is none.
std::int64_t opening::layout(const inventory& there) {
  if (!there.has_layout) return 0;
  const std::string said = text("SELECT " + names_.quoted("layout") + "()");
  std::int64_t number = 0;
  const auto read = std::from_chars(said.data(), said.data() + said.size(), number);
  return read.ec == std::errc{} ? number : 0;  // a routine of somebody else's
}

sql::postgresql::revision opening::revision(const inventory& there) {
  if (!there.has_revision) return {};
  return sql::postgresql::revision::parse(text("SELECT " + names_.quoted("revision") + "()"));
}

/// A table that has one of our names, but not our columns.
std::optional<std::string> opening::foreign_table() {
  for (const auto part : sql::postgresql::tables) {
    const std::string columns = text(
        "SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum) "
        "FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped",
        {names_.quoted(part)});
    if (!columns.empty() && !sql::postgresql::is_ours(part, columns)) return names_.quoted(part);
  }
  return std::nullopt;
}

/// Newer routines do for older clients; older ones are replaced.
bool opening::suffices(const inventory& there) {
  const std::int64_t found = layout(there);
  const auto routines = revision(there);
  const auto& own = sql::postgresql::own_revision();
  const bool newer = routines.number > own.number;
  if (found > sql::postgresql::layout_number || (newer && !there.is_complete)) {
    throw connection_error{
        {errc::foreign_store, "the table " + names_.plain() + " was made by a newer Holdfast"}, false};
  }
  if (found != sql::postgresql::layout_number || !there.is_complete) return false;
  return newer || (routines.number == own.number && !to_.renew);
}

std::string opening::shortage(const inventory& there) const {
  if (!there.has_layout) return "there is no table " + names_.plain() + ", or some part of it is missing";
  return "the tables and routines of " + names_.plain() + " are an older version's, or some part is missing";
}

/// \return whether it has made any.
bool opening::provide_tables() {
  const inventory there = look_around();
  if (suffices(there)) return false;
  if (const auto theirs = foreign_table()) {
    throw connection_error{
        {errc::foreign_store, "there is a table " + *theirs + " that is not ours; name another with table="},
        false};
  }
  if (!to_.create) {
    throw connection_error{
        {errc::unavailable, shortage(there) + ", and create=0 forbids to make it; see holdfast schema"},
        false};
  }
  bare_ = make_ == sql::provision::none && !there.has_layout;
  return !bare_ && make_tables(there);
}

/// One client at a time, and those who come meanwhile find them made. Anybody may have that lock, so it is
/// not waited for without limit: two who make the same at once get in each other's way, and try again.
void opening::await_makers() {
  const auto enough = boot_clock::now() + to_.link.connect_limit / 2;
  const std::string attempt = "SELECT pg_try_advisory_xact_lock(" + sql::postgresql::making_key(names_) + ")";
  while (text(attempt) != "t" && boot_clock::now() < enough) std::this_thread::sleep_for(a_while);
}

/// All that the tables and routines are, as the server has it.
std::string opening::definitions() {
  return text(
      "SELECT concat((SELECT string_agg(concat_ws(' ', p.oid::regprocedure, p.prosecdef, p.proconfig, "
      "p.proacl, p.prosrc), "
      "' ' ORDER BY p.oid::regprocedure::text) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace "
      "WHERE n.nspname = $1 AND starts_with(p.proname, $2)), "
      "(SELECT string_agg(concat_ws(' ', c.relname, a.attname, a.atttypid::regtype), ' ' ORDER BY c.relname, "
      "a.attnum) "
      "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = "
      "c.oid "
      "WHERE n.nspname = $1 AND starts_with(c.relname, $2) AND a.attnum > 0))",
      {names_.schema(), names_.bare("locks")});
}

bool opening::make_tables(const inventory& there) {
  try {
    ask("BEGIN");
    await_makers();
    const bool missing = !suffices(look_around());
    const std::string before = definitions();
    if (missing) {
      ask(sql::postgresql::schema(names_, to_.owner));
    }
    const bool changed = definitions() != before;
    ask("COMMIT");
    return changed;
  } catch (const connection_error& c) {
    if (c.reason.code ==
        errc::foreign_store) {  // a routine of somebody else's, say, or a schema that is missing
      throw connection_error{
          {c.reason.code, "the table " + names_.plain() + " cannot be made: " + c.reason.message}, false};
    }
    if (c.reason.code != errc::permission_denied) throw;
    throw connection_error{
        {errc::permission_denied,
         shortage(there) +
             ", and this user may not make it; have one who may run: holdfast schema URL --apply (" +
             c.reason.message + ")"},
        false};
  }
}

/// \return the last statement's result. \throws connection_error where one is refused.
result opening::ask(const std::string& statement, const std::vector<std::string>& values) {
  std::vector<const char*> texts;
  texts.reserve(values.size());
  for (const std::string& v : values) texts.push_back(v.c_str());
  PGconn* const to = session_.get();
  const int sent = values.empty() ? PQsendQuery(to, statement.c_str())  // may be several statements
                                  : PQsendQueryParams(to, statement.c_str(), static_cast<int>(texts.size()),
                                                      nullptr, texts.data(), nullptr, nullptr, 0);
  if (sent != 1) throw connection_error{failure_of(to)};
  result last;
  while (true) {
    while (PQisBusy(to) != 0) {
      limit_.wait(PQsocket(to), POLLIN);
      if (PQconsumeInput(to) != 1) throw connection_error{failure_of(to)};
    }
    result next{PQgetResult(to)};
    if (!next) return last;
    const auto status = PQresultStatus(next.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
      const store::trouble reason = refusal_of(next.get()).reason;
      throw connection_error{reason.reason, reason.passing};
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
                                      const std::optional<owner_id>& former, sql::provision make, int stop) {
  opening session{to, client, stop};
  handle ready = session.run(former, make);
  auto made = std::make_unique<connection>(std::move(ready), client, session.names(), to.idle_limit);
  if (session.is_bare()) made->expect_nothing();
  return made;
}

bool provide(const settings& to, int stop) { return opening{to, owner_id::random(), stop}.provide(); }

}  // namespace holdfast::postgresql
