#include "stores/postgresql/link/dial.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <poll.h>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "stores/postgresql/link/connection.hpp"
#include "stores/postgresql/link/handle.hpp"
#include "stores/postgresql/link/opening.hpp"
#include "stores/postgresql/protocol/schema.hpp"

namespace holdfast::postgresql {

using runtime::connection_error;

namespace {

/// The settings of each session, which override those of role, database and server.
constexpr const char* session_settings =
    // A transaction that gets a row's lock has to see the changes of the one before.
    "SET default_transaction_isolation = 'read committed';"
    "SET client_min_messages = warning;"
    // Calls run one after another, renewals among them, so none waits long for a row that another transaction
    // has locked. The call is repeated. A shorter limit of the role or the database stays.
    "SELECT set_config('lock_timeout', '1s', false)"
    " WHERE current_setting('lock_timeout')::interval NOT BETWEEN '1 ms' AND '1 s';"
    // Plans are made once in a session and stay while the tables grow. They must not be made for tables of
    // one page, for which a full scan is the cheapest.
    "SET plan_cache_mode = force_generic_plan;"
    "SET enable_seqscan = off;"
    "SET jit = off;"  // which would treat the forbidden scan of a one-row table as expensive
    // The server itself notices dead clients and connections within about 25 seconds, less than the usual
    // ttl. By default it would keep their open transactions for hours.
    "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3;"
    "SET tcp_user_timeout = 25000";

/// Finds the first of the schemas in $1 that has the table $2 or the routine $3; or else the first schema.
constexpr const char* schema_query = R"sql(
SELECT n.nspname
  FROM unnest($1::name[]) WITH ORDINALITY AS s(name, place) JOIN pg_namespace n ON n.nspname = s.name
 WHERE n.oid <> pg_my_temp_schema() AND n.nspname <> 'pg_catalog'
 ORDER BY NOT (EXISTS (SELECT FROM pg_class c WHERE c.relnamespace = n.oid AND c.relname = $2::text)
               OR EXISTS (SELECT FROM pg_proc p WHERE p.pronamespace = n.oid AND p.proname = $3::text)),
          s.place
 LIMIT 1
)sql";

/// Ends the sessions with an application name, and returns a row for each that is not over yet. Any session
/// may use that name, so only sessions with the same login role count. The login role is not the current
/// role.
constexpr const char* ending_query =
    "SELECT pg_terminate_backend(a.pid) FROM pg_stat_get_activity(NULL) a WHERE a.application_name = $1 AND "
    "a.pid <> pg_backend_pid() AND a.usesysid = (SELECT oid FROM pg_roles WHERE rolname = session_user)";

/// The key of the advisory lock of a session, by its client's id.
constexpr const char* key = "('x' || left($1, 16))::bit(64)::bigint";

connection_error switched_session() {
  return connection_error{{errc::unavailable,
                           "the connection pooler switched the session, so it does not pool sessions as "
                           "pooler=session claims; connect directly"},
                          false};
}

}  // namespace

handle opening::run(const std::optional<owner_id>& former, sql::provision make) {
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

bool opening::provide() {
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

void opening::connect() {
  std::vector<const char*> names;
  std::vector<const char*> values;
  for (const auto& [name, value] : to_.connection) {
    names.push_back(name.c_str());
    values.push_back(value.c_str());
  }
  const std::string password = to_.password.current();
  if (!password.empty()) {
    names.push_back("password");
    values.push_back(password.c_str());
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

void opening::check_version() const {
  constexpr int oldest = 130000;
  const int version = PQserverVersion(session_.get());
  if (version < oldest) {
    throw connection_error{
        {errc::foreign_store,
         "the server is PostgreSQL " + std::to_string(version / 10000) + "; Holdfast needs 13 or newer"},
        false};
  }
}

/// Checks the server before anything is written, with every name in full: until `settle_names` the
/// search_path is that of the role and the database, and may contain functions and operators of other users.
void opening::check_server() {
  check_version();
  const result r = ask(
      "SELECT pg_catalog.pg_backend_pid(), pg_catalog.pg_is_in_recovery(), "
      "pg_catalog.current_setting('transaction_read_only'), pg_catalog.current_setting('server_encoding'), "
      "pg_catalog.current_schemas(false)");
  enum column { backend, standby, read_only, encoding, path };
  const auto said = [&](column which) { return std::string{PQgetvalue(r.get(), 0, which)}; };
  check_line(said(backend));
  if (said(standby) == "t") {
    throw connection_error{
        {errc::unavailable, "the server is a read-only standby; the store's URL has to lead to the primary"}};
  }
  if (said(read_only) == "on") {
    throw connection_error{
        {errc::unavailable,
         "the session's transactions are read-only; look for default_transaction_read_only in the settings "
         "of the role, database and server"}};
  }
  if (said(encoding) != "UTF8" && said(encoding) != "SQL_ASCII") {
    throw connection_error{
        {errc::foreign_store, "the database's encoding is " + said(encoding) +
                                  ", which cannot represent every name; use a database in UTF8"},
        false};
  }
  settle_names(said(path));
}

/// Restricts the search_path to pg_catalog, since Holdfast's objects are named with their schema, and has the
/// catalogue print names as they are. If the URL names no schema, the table is searched along the user's
/// former search_path.
void opening::settle_names(const std::string& path) {
  ask("SET search_path = pg_catalog, pg_temp; SET quote_all_identifiers = off");
  if (!names_.schema().empty()) return;
  const std::string schema = text(schema_query, {path, names_.bare("locks"), names_.bare("layout")});
  if (schema.empty()) {
    // Another session of this library has left its own search_path in what the pooler has given to this one.
    if (!backend_.empty() && path == "{pg_catalog}") throw switched_session();
    throw connection_error{
        {errc::foreign_store,
         "no schema of this user's search_path exists; create the schema, or name another with table="},
        false};
  }
  if (schema.find_first_of("$\"'{}\\") != std::string::npos) {
    throw connection_error{
        {errc::foreign_store,
         "the name of the schema " + schema +
             " contains characters that Holdfast does not accept in a schema; name another with table="},
        false};
  }
  names_ = names_.in(schema);
}

/// A pooler cannot know which process a connection will get, and names one of its own invention at first.
/// What takes a connection back after each transaction loses what the session has: notifications, plans, and
/// its settings, to others.
void opening::check_line(const std::string& backend) {
  if (backend == std::to_string(PQbackendPID(session_.get()))) return;
  if (to_.link.session) {
    throw connection_error{{errc::unavailable,
                            "a connection pooler is in front of the server, and with mode=session locks end "
                            "with the session; connect directly"},
                           false};
  }
  if (!to_.pooled) {
    throw connection_error{{errc::unavailable,
                            "a connection pooler is in front of the server; connect directly, or add "
                            "pooler=session if it pools sessions and not transactions or statements"},
                           false};
  }
  backend_ = backend;
}

/// Detects a pooler of transactions, if other clients use it at the same time.
void opening::check_session() {
  if (backend_.empty() || text("SELECT pg_catalog.pg_backend_pid()") == backend_) return;
  throw switched_session();
}

/// Ends former sessions, so that no request of them is carried out later. The server ends a session with a
/// delay, and shows it until all its locks are free. This waits for no lock, because another user could hold
/// it.
void opening::end_sessions(const owner_id& of) {
  limit_.begin("the end of the former connection at the server");
  // The login role may end its own sessions; the current role may lack that right.
  ask("SET ROLE NONE");
  while (!text(ending_query, {application(of)}).empty()) std::this_thread::sleep_for(asking_interval);
  ask("RESET ROLE");
  limit_.begin("the server's answers");
}

/// Takes the lock that shows others that this session lives.
void opening::take_lock() {
  if (text(std::string{"SELECT pg_try_advisory_lock("} + key + ')', {client_.hex()}) == "t") return;
  throw connection_error{
      {errc::unavailable, "another session holds the advisory lock of this session's number"}};
}

/// The server ends it when it has been silent for so long: no sooner, or its client would still believe in
/// it, and not much later, whatever role, database and system have for others. What was sent and is not
/// acknowledged may be a notification that came after the last answer.
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

/// \return the last statement's result. \throws connection_error if a statement is refused.
result opening::ask(const std::string& statement, const std::vector<std::string>& values) {
  std::vector<const char*> texts;
  texts.reserve(values.size());
  for (const std::string& v : values) texts.push_back(v.c_str());
  PGconn* const to = session_.get();
  const int sent = values.empty() ? PQsendQuery(to, statement.c_str())  // allows several statements
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
      const store::request_error reason = refusal_of(next.get()).reason;
      throw connection_error{reason.reason, reason.retryable};
    }
    last = std::move(next);
  }
}

std::string opening::text(const std::string& statement, const std::vector<std::string>& values) {
  const result r = ask(statement, values);
  return r && PQntuples(r.get()) > 0 ? PQgetvalue(r.get(), 0, 0) : "";
}

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
