// SPDX-License-Identifier: Apache-2.0
#include "stores/postgresql/link/dial.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iterator>
#include <poll.h>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "holdfast/boot_clock.hpp"
#include "runtime/io_deadline.hpp"
#include "runtime/measurement.hpp"
#include "runtime/wakeup_fd.hpp"
#include "stores/postgresql/link/conditions.hpp"
#include "stores/postgresql/link/connection.hpp"
#include "stores/postgresql/protocol/schema.hpp"
#include "stores/postgresql/protocol/texts.hpp"
#include "stores/sql/link/conditions.hpp"

namespace holdfast::postgresql {

namespace {

using doctor::facts;
using runtime::connection_error;
namespace pg = sql::postgresql;

/// The pause before the next query. Not a sleep at the server, whose clock may be set back meanwhile.
constexpr std::chrono::milliseconds asking_interval{5};

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

/// As for the calls of a client that polls: see settle.sql.
constexpr const char* durable_commits =
    "SELECT set_config('synchronous_commit', 'on', true)"
    " WHERE current_setting('synchronous_commit') <> 'remote_apply'";

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
/// role. If $2 is not empty, only sessions count that carry out a statement with that text.
constexpr const char* ending_query =
    "SELECT pg_terminate_backend(a.pid) FROM pg_stat_get_activity(NULL) a WHERE a.application_name = $1 AND "
    "a.pid <> pg_backend_pid() AND a.usesysid = (SELECT oid FROM pg_roles WHERE rolname = session_user) AND "
    "($2 = '' OR (a.state <> 'idle' AND position($2 IN a.query) > 0))";

/// The key of the advisory lock of a session, by its client's id.
constexpr const char* key = "('x' || left($1, 16))::bit(64)::bigint";

/// A pooler in front of the server that the URL's options do not fit.
struct pooler_refusal : connection_error {
  pooler_refusal(const std::string& message, const char* remedy)
      : connection_error{{errc::unavailable, message}, false}, remedy{remedy} {}
  const char* remedy;  // for the doctor
};

pooler_refusal refusal_of_switch() {
  return {switched_session,
          "notify=poll in place of pooler=session in the URL of all clients, or connect directly"};
}

/// Follows `owners`: the number of tables and routines, whether `layout` ($2) and `revision` ($3) exist, and
/// the untrusted objects with their owners.
constexpr const char* inventory_query = R"sql(
SELECT count(*) FILTER (WHERE kind = 'table'), count(*) FILTER (WHERE kind = 'routine'),
       count(*) FILTER (WHERE kind = 'routine' AND name = $2::text),
       count(*) FILTER (WHERE kind = 'routine' AND name = $3::text),
       min('the ' || kind || ' ' || name || ' belongs to ' || pg_get_userbyid(owner))
         FILTER (WHERE owner NOT IN (SELECT oid FROM trusted))
  FROM part
)sql";

std::string text_at(const result& r, int row, int column) { return PQgetvalue(r.get(), row, column); }

/// A statement that follows `owners`, with the role that the URL names as $1.
std::string of_owners(const sql::naming& names, std::string_view statement) {
  std::string all = pg::owners(names);
  sql::replace_all(all, "{OWNER}", "$1");
  return all.append("\n").append(statement);
}

/// Half of the id, because everybody can read it at the server. The other half stays secret, so that no
/// other user knows the channel.
std::string application(const owner_id& client) { return "holdfast " + client.hex().substr(0, 16); }

/// Runs a step of what clients do, too. What they refuse is said to the doctor.
void check(facts& said, const std::function<void()>& step) {
  try {
    step();
  } catch (const pooler_refusal& p) {
    said.set("server_refusal", p.reason.message);
    said.set("pooler_remedy", p.remedy);
  } catch (const connection_error& c) {
    said.set("server_refusal", c.reason.message);
  }
}

/// A session that is being set up.
class opening {
 public:
  opening(const settings& to, const owner_id& client, int stop)
      : to_{to}, names_{to.names}, client_{client}, stop_{stop}, limit_{to.link.connect_limit, stop} {}

  [[nodiscard]] handle run(const std::optional<owner_id>& former, sql::provision make) {
    make_ = make;
    if (is_shared()) {
      begin_set_up();
      provide_tables();
      commit();
      check_session();
      if (former && to_.pooled) end_sessions(*former);
      return std::move(session_);
    }
    connect();
    check_server();
    if (former) end_sessions(*former);
    if (to_.link.session) take_lock();
    ask(session_settings);
    if (to_.link.session) bind_to_session(*to_.link.session);
    provide_tables();
    return std::move(session_);
  }
  /// With the schema of the tables; after `run`.
  [[nodiscard]] const sql::naming& names() const { return names_; }
  /// After `run`, of a pooler that is said to pool sessions: the process at the server.
  [[nodiscard]] const std::string& backend() const { return backend_; }
  /// Whether there are no tables, and none were to be made.
  [[nodiscard]] bool is_bare() const { return bare_; }

  /// \return whether it has made tables.
  [[nodiscard]] bool provide() {
    begin_set_up();
    const bool made = provide_tables();
    for (const std::string& each : to_.lockers) {
      ask(pg::grants(names_, each, pg::access::lock));
    }
    for (const std::string& each : to_.lookers) {
      ask(pg::grants(names_, each, pg::access::look));
    }
    commit();
    return made;
  }

  /// \return whether it has made or changed anything.
  [[nodiscard]] bool provide_fences() {
    begin_set_up();
    begin();
    await_makers();
    const std::string before = definitions();
    ask(pg::fences(names_, to_.owner));
    const bool changed = definitions() != before;
    for (const std::string& each : to_.lockers) ask(pg::fence_grants(names_, each));
    commit();
    return changed;
  }

  /// Reads what the server says of itself and of the store; changes and locks nothing, and calls no routine
  /// of an untrusted role.
  ///
  /// One transaction, which writes nothing, and is rolled back: behind a pooler no setting stays in the
  /// session.
  [[nodiscard]] doctor::report examine() {
    connect();
    check_version();
    sql::examination found{facts{to_.link.place}, {}};
    facts& said = found.said;
    said.set("product", "PostgreSQL");
    // Before the server has a say.
    said.set("grant", "holdfast schema 'URL&grant_lock=ROLE' --apply, with the URL of the tables' owner");
    said.set("careless_remedy",
             "ALTER ROLE, ALTER ROLE ... IN DATABASE, ALTER DATABASE or ALTER SYSTEM ... SET "
             "synchronous_commit = on");
    said.set_flag("password_unused", (to_.password.is_given() || to_.connection.contains("password")) &&
                                         PQconnectionUsedPassword(session_.get()) == 0);
    said.set_flag("session", to_.link.session.has_value());
    sql::set_polling(said, to_.link);
    ask("BEGIN ISOLATION LEVEL READ COMMITTED");
    check(said, [&] { check_server(); });
    if (said.has("server_refusal")) settle_names(text("SELECT pg_catalog.current_schemas(false)"));
    ask("SET TRANSACTION READ ONLY");
    if (is_shared()) ask(durable_commits);
    // What is locked is refused in time to look at the rest.
    const auto patience = std::max(to_.link.connect_limit / 8, std::chrono::milliseconds{1});
    ask("SET LOCAL lock_timeout = " + std::to_string(patience.count()));
    const auto examine_part = [&](const char* part, const std::function<void()>& read) {
      if (const std::string problem = read_part(read); !problem.empty()) found.add_unread(part, problem);
    };
    examine_part("settings", [&] {
      const result r = ask(std::string{pg::text::conditions},
                           {names_.schema(), names_.bare("acquire"),
                            pg::bare_routines(names_, pg::access::look, pg::access::all)});
      for (int row = 0; row < PQntuples(r.get()); ++row) said.set(text_at(r, row, 0), text_at(r, row, 1));
      said.set("schema", names_.schema());
    });
    said.set_flag("pooled", is_pooled_);
    examine_part("clock", [&] {
      doctor::set_clock(said, runtime::clock_ahead([this] {
                          return std::chrono::microseconds{sql::number_in(
                              text("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"))};
                        }));
    });
    // Looking into a schema takes USAGE.
    if (said.text("uses_schema") == "true") examine_part("store", [&] { read_store(said); });
    examine_part("rights of others", [&] {
      const result r =
          ask(of_owners(names_, pg::text::excess),
              {to_.owner, names_.schema(), pg::bare_routines(names_, pg::access::lock, pg::access::lock)});
      said.set("excess", PQntuples(r.get()));
      for (int row = 0; row < PQntuples(r.get()); ++row) {
        facts one{said.subject};
        int column = 0;
        for (const char* name : {"grantee", "kind", "rights", "objects", "full", "grantee_name", "writes"})
          one.set(name, text_at(r, row, column++));
        doctor::examine(conditions::excess_conditions, one, found.more);
      }
    });
    examine_part("session", [&] {
      ask("ROLLBACK");
      check(said, [&] { probe_pooler(said); });
      said.set_flag("is_usable", !said.has("server_refusal"));
    });
    return found.conclude(conditions::server_conditions);
  }

 private:
  // ---- statements

  /// \return the last statement's result. \throws connection_error if a statement is refused.
  result ask(const std::string& statement, const std::vector<std::string>& values = {}) {
    std::vector<const char*> texts;
    texts.reserve(values.size());
    for (const std::string& v : values) texts.push_back(v.c_str());
    PGconn* const to = session_.get();
    const int sent = values.empty() ? PQsendQuery(to, statement.c_str())  // allows several statements
                                    : PQsendQueryParams(to, statement.c_str(), static_cast<int>(texts.size()),
                                                        nullptr, texts.data(), nullptr, nullptr, 0);
    if (sent != 1) throw connection_error{failure_of(to)};
    result last;
    while (result next = next_result()) {
      const auto status = PQresultStatus(next.get());
      if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
        const store::request_error reason = refusal_of(next.get()).reason;
        throw connection_error{reason.reason, reason.retryable};
      }
      last = std::move(next);
    }
    return last;
  }

  /// \return of the statements that were sent; null: there are no more.
  [[nodiscard]] result next_result() {
    PGconn* const to = session_.get();
    while (PQisBusy(to) != 0) {
      limit_.wait(PQsocket(to), POLLIN);
      if (PQconsumeInput(to) != 1) throw connection_error{failure_of(to)};
    }
    return result{PQgetResult(to)};
  }

  [[nodiscard]] std::string text(const std::string& statement, const std::vector<std::string>& values = {}) {
    const result r = ask(statement, values);
    return r && PQntuples(r.get()) > 0 ? PQgetvalue(r.get(), 0, 0) : "";
  }

  // ---- the session

  /// Whether it may be another client's as well, behind a pooler, which may be said to pool sessions and does
  /// not: nothing is to stay in it. So it is set up in one transaction, with settings that end with that. No
  /// statement is SET: some poolers keep a session for a client that sends one.
  [[nodiscard]] bool is_shared() const { return to_.link.polling || to_.pooled; }

  void begin_set_up() {
    connect();
    if (is_shared()) begin();
    check_server();
    ask(is_shared() ? "SELECT set_config('lock_timeout', '1s', true)" : session_settings);
  }
  void begin() {
    if (PQtransactionStatus(session_.get()) == PQTRANS_IDLE) ask("BEGIN ISOLATION LEVEL READ COMMITTED");
  }
  void commit() {
    if (PQtransactionStatus(session_.get()) != PQTRANS_IDLE) ask("COMMIT");
  }

  void connect() {
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
    // Unique to this client: see end_sessions. A pooler would set it anew for each transaction.
    const std::string as = to_.link.polling ? "holdfast" : application(client_);
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
    for (auto state = PGRES_POLLING_WRITING; state != PGRES_POLLING_OK;
         state = PQconnectPoll(session_.get())) {
      if (state == PGRES_POLLING_FAILED || PQstatus(session_.get()) == CONNECTION_BAD) {
        throw refused_entry(session_.get());
      }
      limit_.wait(PQsocket(session_.get()), state == PGRES_POLLING_READING ? POLLIN : POLLOUT);
    }
    limit_.begin("the server's first answers");
  }

  void check_version() const {
    constexpr int oldest = 130000;
    const int version = PQserverVersion(session_.get());
    if (version < oldest) {
      throw sql::permanent(
          errc::foreign_store,
          "the server is PostgreSQL " + std::to_string(version / 10000) + "; Holdfast needs 13 or newer");
    }
  }

  /// Checks the server before anything is written, with every name in full: until `settle_names` the
  /// search_path is that of the role and the database, and may contain functions and operators of other
  /// users.
  void check_server() {
    check_version();
    // Another client may have left its own in the session, and every client has to find the same tables.
    if (is_shared()) {
      ask("SELECT pg_catalog.set_config('search_path', reset_val, true) FROM pg_catalog.pg_settings "
          "WHERE name OPERATOR(pg_catalog.=) 'search_path'");
    }
    const result r = ask(
        "SELECT pg_catalog.pg_backend_pid(), pg_catalog.pg_is_in_recovery(), "
        "pg_catalog.current_setting('transaction_read_only'), pg_catalog.current_setting('server_encoding'), "
        "pg_catalog.current_schemas(false), pg_catalog.current_setting('default_transaction_isolation')");
    enum column { backend, standby, read_only, encoding, path, isolation };
    const auto said = [&](column which) { return std::string{PQgetvalue(r.get(), 0, which)}; };
    check_line(said(backend));
    if (said(standby) == "t") {
      throw connection_error{
          {errc::unavailable,
           "the server is a read-only standby; the store's URL has to lead to the primary"}};
    }
    if (said(read_only) == "on") {
      throw connection_error{
          {errc::unavailable,
           std::string{"the session's transactions are read-only; look for default_transaction_read_only in "
                       "the settings of the role, database and server"} +
               (is_shared() ? left_by_others : "")}};
    }
    if (is_shared() && said(isolation) != "read committed") {
      throw connection_error{
          {errc::unavailable, "the session's transactions are " + said(isolation) +
                                  ", and with notify=poll or pooler=session no client changes that; ALTER "
                                  "ROLE ... SET default_transaction_isolation "
                                  "= 'read committed'" +
                                  left_by_others}};
    }
    if (said(encoding) != "UTF8" && said(encoding) != "SQL_ASCII") {
      throw sql::permanent(errc::foreign_store,
                           "the database's encoding is " + said(encoding) +
                               ", which cannot represent every name; use a database in UTF8");
    }
    settle_names(said(path));
  }

  /// Restricts the search_path to pg_catalog, since Holdfast's objects are named with their schema, and has
  /// the catalogue print names as they are. If the URL names no schema, the table is searched along the
  /// user's former search_path.
  void settle_names(const std::string& path) {
    const std::string until_commit = is_shared() ? "true" : "false";
    ask("SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', " + until_commit +
        "), pg_catalog.set_config('quote_all_identifiers', 'off', " + until_commit + ")");
    if (!names_.schema().empty()) return;
    const std::string schema =
        text(schema_query, {path, start_of_names(), names_.bare(to_.fences ? "fence" : "layout")});
    if (schema.empty()) {
      throw sql::permanent(
          errc::foreign_store,
          "no schema of this user's search_path exists; create the schema, or name another with table=");
    }
    if (schema.find_first_of("$\"'{}\\") != std::string::npos) {
      throw sql::permanent(
          errc::foreign_store,
          "the name of the schema " + schema +
              " contains characters that Holdfast does not accept in a schema; name another with table=");
    }
    names_ = names_.in(schema);
  }

  /// A pooler cannot know which process a connection will get, and names one of its own invention at first.
  /// What takes a connection back after each transaction loses what the session has: notifications, plans,
  /// and its settings, to others.
  void check_line(const std::string& backend) {
    is_pooled_ = backend != std::to_string(PQbackendPID(session_.get()));
    if (to_.pooled) backend_ = backend;
    if (!is_pooled_ || is_shared()) return;
    if (to_.link.session) {
      throw pooler_refusal{
          "a connection pooler is in front of the server, and with mode=session locks end with the session; "
          "connect directly",
          "connect directly"};
    }
    throw pooler_refusal{
        "a connection pooler is in front of the server; connect directly, or add notify=poll, which works "
        "through one of transactions; or pooler=session if it pools sessions and not transactions or "
        "statements",
        "add notify=poll to the URL of all clients, or connect directly"};
  }

  /// Detects a pooler of transactions, if other clients use it at the same time.
  void check_session() {
    if (backend_.empty() || process() == backend_) return;
    throw refusal_of_switch();
  }

  [[nodiscard]] std::string process() { return text("SELECT pg_catalog.pg_backend_pid()"); }

  /// Detects a pooler of transactions, where nothing else makes it switch: a second client has a transaction
  /// meanwhile, which gets the session that this one has between two of its own.
  void probe_pooler(facts& to) {
    check_session();
    if (backend_.empty() || !is_pooled_) return;
    opening second{to_, client_, stop_};
    std::string taken;
    try {
      second.connect();
      second.begin();
      taken = second.process();
    } catch (const connection_error& c) {
      to.set("pooler_unseen", c.reason.message);
      return;
    }
    if (taken == backend_) throw refusal_of_switch();
    check_session();
    to.set_flag("keeps_sessions", true);
  }

  /// Ends former sessions, so that no request of them is carried out later, except one that a pooler still
  /// has. The server ends a session with a delay, and shows it until all its locks are free. This waits for
  /// no lock, because another user could hold it.
  void end_sessions(const owner_id& of) {
    limit_.begin("the end of the former connection at the server");
    while (!are_over(of)) std::this_thread::sleep_for(asking_interval);
    limit_.begin("the server's answers");
  }

  /// A transaction of its own, since the server shows the same sessions to all statements of one.
  [[nodiscard]] bool are_over(const owner_id& of) {
    begin();
    settle_names({});
    // The login role may end its own sessions; the current role may lack that right.
    ask("SELECT set_config('role', 'none', true)");
    // A pooler may have given the session to another client: it is ours while it carries out a call of ours.
    const bool are = text(ending_query, {application(of), to_.pooled ? names_.bare("") : ""}).empty();
    commit();
    return are;
  }

  /// Takes the lock that shows others that this session lives.
  void take_lock() {
    if (text(std::string{"SELECT pg_try_advisory_lock("} + key + ')', {client_.hex()}) == "t") return;
    throw connection_error{
        {errc::unavailable, "another session holds the advisory lock of this session's number"}};
  }

  /// The server ends it when it has been silent for so long: no sooner, or its client would still believe in
  /// it, and not much later, whatever role, database and system have for others. What was sent and is not
  /// acknowledged may be a notification that came after the last answer.
  void bind_to_session(std::chrono::milliseconds timeout) {
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

  // ---- Holdfast's tables and routines

  /// What there is at the server, all of it of trusted roles.
  struct inventory {
    bool has_tables = false;
    bool has_layout = false;
    bool has_revision = false;
    bool is_complete = false;
  };

  /// \return whether it has made any.
  bool provide_tables() {
    const auto there = find_shortage();
    if (!there) return false;
    bare_ = make_ == sql::provision::none && !there->has_layout;
    return !bare_ && make_tables(*there);
  }

  /// \return what is there, if that does not suffice, and a client may make the rest.
  [[nodiscard]] std::optional<inventory> find_shortage() {
    const inventory there = look_around();
    if (suffices(there)) return std::nullopt;
    if (const auto theirs = foreign_table()) {
      throw sql::permanent(errc::foreign_store,
                           "the table " + *theirs + " is not Holdfast's; name another table with table=");
    }
    if (!to_.create) {
      throw sql::permanent(errc::unavailable,
                           shortage(there) + ", and create=0 forbids to create it; see holdfast schema");
    }
    return there;
  }

  /// Runs before any routine is called: a routine of an untrusted role would run with the rights of this
  /// user, and so would the triggers and defaults of its tables. The owner of the schema can replace objects
  /// in it.
  [[nodiscard]] inventory look_around() {
    const result r =
        ask(of_owners(names_, inventory_query), {to_.owner, names_.bare("layout"), names_.bare("revision")});
    enum column { tables, routines, layout, revision, stranger };
    const auto count = [&](column which) { return sql::number_in(PQgetvalue(r.get(), 0, which)); };
    const std::string theirs = PQgetvalue(r.get(), 0, stranger);
    if (!theirs.empty()) throw sql::permanent(errc::foreign_store, theirs + std::string{pg::stranger_advice});
    return {count(tables) > 0, count(layout) == 1, count(revision) == 1,
            count(tables) == std::ssize(pg::tables) && count(routines) == std::ssize(pg::routines)};
  }

  /// Newer routines serve older clients; older routines are replaced. Another layout is left alone.
  [[nodiscard]] bool suffices(const inventory& there) {
    const std::int64_t found = number_of("layout", there.has_layout);
    if (found != 0 && found != pg::layout_number) {
      throw sql::permanent(errc::foreign_store,
                           "the table " + names_.plain() + " has layout " + std::to_string(found) +
                               ", and this Holdfast needs layout " + std::to_string(pg::layout_number) +
                               "; name another table with table=");
    }
    const std::int64_t revision = number_of("revision", there.has_revision);
    const bool newer = revision > pg::revision_number;
    if (newer && !there.is_complete) {
      throw sql::permanent(errc::foreign_store,
                           "the table " + names_.plain() + " was made by a newer Holdfast; update this one");
    }
    if (found == 0 || !there.is_complete) return false;
    return newer || (revision == pg::revision_number && !to_.renew);
  }

  /// \return the number that this routine answers; zero if there is none.
  [[nodiscard]] std::int64_t number_of(const char* routine, bool is_there) {
    return is_there ? sql::number_in(text("SELECT " + names_.quoted(routine) + "()")) : 0;
  }

  /// Finds a table with one of Holdfast's names and other columns.
  [[nodiscard]] std::optional<std::string> foreign_table() {
    for (const auto part : pg::tables) {
      const std::string columns = text(
          "SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum) "
          "FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped",
          {names_.quoted(part)});
      if (!columns.empty() && !pg::is_ours(part, columns)) return names_.quoted(part);
    }
    return std::nullopt;
  }

  [[nodiscard]] std::string shortage(const inventory& there) const {
    if (!there.has_layout)
      return "the table " + names_.plain() + " does not exist, or a part of it is missing";
    return "the tables and routines of " + names_.plain() +
           " are those of an older version, or a part is missing";
  }

  bool make_tables(const inventory& there) {
    try {
      begin();
      await_makers();
      const bool missing = !suffices(look_around());
      const std::string before = definitions();
      if (missing) {
        ask(pg::schema(names_, to_.owner));
      }
      const bool changed = definitions() != before;
      if (!is_shared()) commit();
      return changed;
    } catch (const connection_error& c) {
      if (c.reason.code == errc::foreign_store) {  // for example a routine of another program
        throw sql::permanent(errc::foreign_store,
                             "the table " + names_.plain() + " cannot be created: " + c.reason.message);
      }
      if (c.reason.code != errc::permission_denied) throw;
      throw sql::permanent(errc::permission_denied, shortage(there) +
                                                        ", and this user may not create it; run as a user "
                                                        "with the rights: holdfast schema URL --apply (" +
                                                        c.reason.message + ")");
    }
  }

  /// One client at a time makes the tables, and the others find them made. Any user may hold this lock, so
  /// the wait is limited. Two clients that make the tables at once fail and try again.
  void await_makers() {
    const auto enough = boot_clock::now() + to_.link.connect_limit / 2;
    const std::string attempt = "SELECT pg_try_advisory_xact_lock(" + pg::making_key(names_) + ")";
    while (text(attempt) != "t" && boot_clock::now() < enough) std::this_thread::sleep_for(asking_interval);
  }

  /// The definitions of the tables and routines at the server.
  [[nodiscard]] std::string definitions() {
    return text(
        "SELECT concat("
        "(SELECT string_agg(concat_ws(' ', p.oid::regprocedure, p.prosecdef, p.proconfig, p.proacl, "
        "p.prosrc), "
        "' ' ORDER BY p.oid::regprocedure::text) "
        "FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace "
        "WHERE n.nspname = $1 AND starts_with(p.proname, $2)), "
        "(SELECT string_agg(concat_ws(' ', c.relname, a.attname, a.atttypid::regtype), "
        "' ' ORDER BY c.relname, a.attnum) "
        "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "JOIN pg_attribute a ON a.attrelid = c.oid "
        "WHERE n.nspname = $1 AND starts_with(c.relname, $2) AND a.attnum > 0))",
        {names_.schema(), start_of_names()});
  }

  /// The names of all tables and routines begin so.
  [[nodiscard]] std::string start_of_names() const { return names_.bare(to_.fences ? "fence" : "locks"); }

  // ---- for the doctor

  /// What is refused leaves the other parts as they are. An answer that does not come ends the examination,
  /// because the session is of no use then.
  /// \return why the part could not be read; empty: it was.
  [[nodiscard]] std::string read_part(const std::function<void()>& read) {
    if (PQtransactionStatus(session_.get()) != PQTRANS_INTRANS) return "the session is over";
    try {
      ask("SAVEPOINT part");
      read();
      return {};
    } catch (const connection_error& c) {
      try {
        while (next_result()) {
        }
        if (PQtransactionStatus(session_.get()) == PQTRANS_INERROR) ask("ROLLBACK TO SAVEPOINT part");
      } catch (const connection_error&) {
        session_.reset();
      }
      return c.reason.message;
    }
  }

  /// Makes nothing.
  void read_store(facts& to) {
    to.set("table", names_.plain());
    try {
      const auto there = find_shortage();
      if (!there) return to.set_flag("outdated", false);
      to.set("shortage", shortage(*there));
      to.set_flag("is_there", there->has_tables);
    } catch (const connection_error& c) {
      if (PQtransactionStatus(session_.get()) != PQTRANS_INTRANS)
        throw;  // the server has refused a statement
      to.set("schema_refusal", c.reason.message);
    }
  }

  const settings& to_;
  sql::naming names_;
  const owner_id& client_;
  const int stop_;
  runtime::io_deadline limit_;
  sql::provision make_ = sql::provision::tables;
  bool bare_ = false;
  handle session_;
  bool is_pooled_ = false;  // behind a pooler
  std::string backend_;     // with pooler=session: the server's process that gave the first answer
};

session_use use_of(const settings& to) {
  if (to.link.polling) return session_use::shared;
  return to.pooled ? session_use::kept : session_use::own;
}

}  // namespace

std::unique_ptr<sql::connection> dial(const settings& to, const owner_id& client,
                                      const std::optional<owner_id>& former, sql::provision make, int stop) {
  opening session{to, client, stop};
  handle ready = session.run(former, make);
  auto made = std::make_unique<connection>(std::move(ready), client, session.names(), to.idle_limit,
                                           use_of(to), session.backend());
  if (session.is_bare()) made->expect_nothing();
  return made;
}

bool provide_fences(const settings& to, int stop) {
  return opening{to, owner_id::random(), stop}.provide_fences();
}

bool provide(const settings& to, int stop) { return opening{to, owner_id::random(), stop}.provide(); }

doctor::report diagnose(const settings& of) {
  const runtime::wakeup_fd never;
  const owner_id nobody = owner_id::random();
  return opening{of, nobody, never.descriptor()}.examine();
}

}  // namespace holdfast::postgresql
