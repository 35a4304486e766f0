#include "stores/mariadb/link/dial.hpp"

#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/time.h>

#include "runtime/signals.hpp"
#include "stores/mariadb/link/connection.hpp"
#include "stores/mariadb/link/handle.hpp"
#include "stores/mariadb/link/opening.hpp"
#include "stores/mariadb/link/watched_socket.hpp"
#include "stores/mariadb/protocol/schema.hpp"

namespace holdfast::mariadb {

using runtime::connection_error;

namespace {

constexpr unsigned long packet_limit = 16UL << 20U;  // the memory that a hostile server may use
constexpr std::size_t stack_size = 256UL << 10U;     // of non-blocking calls: TLS and name look-ups need it
constexpr unsigned no_such_variable = 1193;
constexpr unsigned of_another_user = 1095;

/// Authentication plugins that do not show the server the password.
constexpr const char* hiding_plugins = "mysql_native_password,client_ed25519";
/// Authentication plugins that show the server the password: over TLS, or encrypted with a key that the
/// server sends, which does not protect against a fake server.
constexpr const char* all_plugins =
    "mysql_native_password,client_ed25519,caching_sha2_password,sha256_password";

/// The library does the TLS handshake on a blocking socket: until then the kernel limits its waits.
void limit_blocking(int socket, std::chrono::milliseconds limit) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(limit);
  const timeval longest{seconds.count(), 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest);
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof longest);
}

void end_blocking(int socket) {
  ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK);
  ::fcntl(socket, F_SETFD, ::fcntl(socket, F_GETFD) | FD_CLOEXEC);
}

}  // namespace

/// \param go_on gets the events that are ready, and returns the events to wait for; zero: done.
template <class Function>
void opening::wait_while(int waiting, Function go_on) {
  while (waiting != 0) {
    limit_.wait(mysql_get_socket(session_.get()), events_of(waiting));
    const int ready = ready_of(session_.get(), waiting);
    if (ready != 0) waiting = go_on(ready);
  }
}

handle opening::run(const std::optional<owner_id>& former, sql::provision make) {
  make_ = make;
  begin();
  if (former) end_session(*former);
  if (former != client_) take_lock();
  if (as_ == role::notifications) stay_out_of_slow_log();
  if (as_ == role::calls) {
    check_server();
    if (to_.link.session) bind_to_session(*to_.link.session);
    static_cast<void>(provide_tables(sql::mariadb::existing::kept));
  }
  return std::move(session_);
}

void opening::set_options() {
  MYSQL* const m = session_.get();
  const unsigned protocol = to_.socket.empty() ? MYSQL_PROTOCOL_TCP : MYSQL_PROTOCOL_SOCKET;
  const unsigned no = 0;
  const auto limit = std::chrono::ceil<std::chrono::seconds>(to_.link.connect_limit).count();
  const auto limit_s = static_cast<unsigned>(limit);
  mysql_optionsv(m, MYSQL_OPT_NONBLOCK, &stack_size);
  mysql_optionsv(m, MYSQL_OPT_CONNECT_TIMEOUT, &limit_s);
  mysql_optionsv(m, MYSQL_OPT_PROTOCOL, &protocol);
  mysql_optionsv(m, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  mysql_optionsv(m, MYSQL_OPT_LOCAL_INFILE, &no);  // otherwise a server could request files of this host
  mysql_optionsv(m, MYSQL_OPT_MAX_ALLOWED_PACKET, &packet_limit);
  const bool server_is_known = !to_.socket.empty() || (to_.tls.on && to_.tls.verify);
  mysql_optionsv(m, MARIADB_OPT_RESTRICTED_AUTH, server_is_known ? all_plugins : hiding_plugins);
  mysql_optionsv(m, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", "holdfast");
  if (to_.tls.on) set_tls();
}

void opening::set_tls() {
  MYSQL* const m = session_.get();
  const my_bool yes = 1;
  const my_bool verify = to_.tls.verify ? 1 : 0;
  mysql_optionsv(m, MYSQL_OPT_SSL_ENFORCE, &yes);
  mysql_optionsv(m, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
  const auto set = [&](mysql_option option, const std::string& file) {
    if (!file.empty()) mysql_optionsv(m, option, file.c_str());
  };
  set(MYSQL_OPT_SSL_CA, to_.tls.ca);
  set(MYSQL_OPT_SSL_CERT, to_.tls.cert);
  set(MYSQL_OPT_SSL_KEY, to_.tls.key);
}

void opening::connect() {
  static std::once_flag begun;  // the library initializes itself, but not safely for two threads
  std::call_once(begun, [] {
    // The library would make the whole process ignore SIGPIPE, and the programs that it starts.
    struct sigaction before{};
    sigaction(SIGPIPE, nullptr, &before);
    mysql_library_init(0, nullptr, nullptr);
    sigaction(SIGPIPE, &before, nullptr);
  });
  session_.reset(mysql_init(nullptr));
  if (!session_) throw connection_error{{errc::exhausted, "out of memory"}};
  set_options();
  const auto given = [](const std::string& s) { return s.empty() ? nullptr : s.c_str(); };
  const std::string password = to_.password.current();
  MYSQL* connected = nullptr;
  limit_.begin("the connection");
  wait_while(mysql_real_connect_start(
                 &connected, session_.get(), to_.socket.empty() ? to_.host.c_str() : nullptr, given(to_.user),
                 given(password), to_.database.c_str(), to_.port, given(to_.socket), CLIENT_MULTI_RESULTS),
             [&](int ready) { return go_on_connecting(connected, ready); });
  if (connected == nullptr) {
    const error_answer answer = error_now();
    throw refused_entry(answer.number, answer.sentence);
  }
  end_blocking(mysql_get_socket(session_.get()));
  // Without verification, the library continues without TLS if the server has none.
  if (to_.tls.on && mysql_get_ssl_cipher(session_.get()) == nullptr) {
    throw connection_error{{errc::unavailable, "the server does not offer TLS, and the URL asks for it"},
                           false};
  }
  limit_.begin("the server's first answers");
}

/// The library does the TLS handshake within one call, on a blocking socket.
int opening::go_on_connecting(MYSQL*& connected, int ready) {
  const int socket = mysql_get_socket(session_.get());
  limit_blocking(socket, to_.link.connect_limit);
  if (!to_.tls.on) return mysql_real_connect_cont(&connected, session_.get(), ready);
  const runtime::no_sigpipe guard;  // OpenSSL writes to a connection that may have been ended
  watched_socket watched{socket, limit_};
  const int waiting = mysql_real_connect_cont(&connected, session_.get(), ready);
  watched.end_watch();
  return waiting;
}

void opening::begin() {
  connect();
  for (const std::string& setting : sql::mariadb::session_settings()) ask(setting);
}

void opening::check_version() const {
  constexpr unsigned long oldest_mariadb = 100500;
  constexpr unsigned long oldest_mysql = 80029;
  const bool is_mariadb = mariadb_connection(session_.get()) != 0;
  const unsigned long version = mysql_get_server_version(session_.get());
  if (version < (is_mariadb ? oldest_mariadb : oldest_mysql)) {
    throw connection_error{
        {errc::foreign_store, std::string{"the server is "} + (is_mariadb ? "MariaDB " : "MySQL ") +
                                  mysql_get_server_info(session_.get()) +
                                  "; Holdfast needs MariaDB 10.5, MySQL 8.0.29, or newer"},
        false};
  }
}

void opening::check_server() {
  check_version();
  if (!sql::mariadb::is_writable(text("SELECT @@global.read_only"))) {
    throw connection_error{
        {errc::unavailable, "the server is a read-only replica; the store's URL has to lead to the primary"}};
  }
  if (!to_.link.session && !to_.one_node && is_clustered()) {
    throw connection_error{
        {errc::foreign_store,
         "the server is a node of a Galera cluster, which may lose updates of rows, and so "
         "locks, also while nothing fails. Use a server that is in none; or lead all clients to "
         "this one node, and write galera=one-node into their URLs"},
        false};
  }
}

/// Each session holds a lock with the client's random id and the role: the session that holds the lock is the
/// one to end. The server frees the lock at the end of that session. A lock of this session's own id stays
/// held.
void opening::end_session(const owner_id& of) {
  const std::string lock = lock_of(of);
  const std::string former = text("SELECT IS_USED_LOCK(" + lock + ")");
  if (!former.empty()) {
    const auto refused = try_to_ask("KILL " + former);  // the session may have ended meanwhile
    // Another user's session has the lock, so ours has lost it, and is over. Whoever sees others' statements
    // may have learned its name. In table mode this session is then without: the next one cannot end it.
    if (refused && refused->number == of_another_user) return;
  }
  if (text("SELECT GET_LOCK(" + lock + ", 5)") != "1") {
    throw connection_error{
        {errc::unavailable, "the server has not ended a former session of this client in time"}};
  }
  if (of != client_) ask("DO RELEASE_LOCK(" + lock + ")");
}

/// Takes the lock by which others find this session and know that it lives.
void opening::take_lock() {
  if (text("SELECT GET_LOCK(" + lock_of(client_) + ", 0)") == "1") return;
  throw connection_error{{errc::unavailable, "another session holds the lock of this session's name"}};
}

/// The session for notifications sleeps in a statement, which would be in the slow log each time. If the user
/// may not change that setting, it is.
void opening::stay_out_of_slow_log() {
  static_cast<void>(try_to_ask("SET SESSION long_query_time = 31536000"));
}

bool opening::is_clustered() {
  const auto refused =
      try_to_ask("SELECT @@global.wsrep_on = 1 AND @@global.wsrep_provider NOT IN ('', 'none')");
  const bool clustered = !refused && !column_.empty() && column_.front() == "1";
  if (refused && refused->number != no_such_variable) {
    const connection_error refusal = refused_entry(refused->number, refused->sentence);
    throw connection_error{refusal};
  }
  return clustered;
}

/// The nodes of a Galera cluster share the tables, but not the locks that show which sessions live.
void opening::refuse_cluster() {
  if (!is_clustered()) return;
  throw connection_error{{errc::foreign_store,
                          "the server is a node of a Galera cluster, whose nodes do not know one another's "
                          "sessions; use mode=table"},
                         false};
}

/// Makes the server end the session after this time without a request, and not before, because the client
/// relies on the session until then. The server counts whole seconds. Its limits for reading and writing the
/// rest of a packet may start right after the last answer.
void opening::bind_to_session(std::chrono::milliseconds timeout) {
  refuse_cluster();
  const std::string seconds = std::to_string(std::chrono::ceil<std::chrono::seconds>(timeout).count());
  ask("SET SESSION wait_timeout = " + seconds + ", net_read_timeout = " + seconds +
      ", net_write_timeout = " + seconds + ", @holdfast_session = x'" + client_.hex() + '\'');
}

/// Stores the first column of the answer in `column_`. \throws connection_error if the session is over.
std::optional<error_answer> opening::try_to_ask(std::string_view statement) {
  MYSQL* const m = session_.get();
  column_.clear();
  is_answered_ = false;
  int failed = 0;
  wait_while(mysql_real_query_start(&failed, m, statement.data(), statement.size()),
             [&](int ready) { return mysql_real_query_cont(&failed, m, ready); });
  while (failed == 0) {
    MYSQL_RES* stored = nullptr;
    wait_while(mysql_store_result_start(&stored, m),
               [&](int ready) { return mysql_store_result_cont(&stored, m, ready); });
    const result rows{stored};
    if (!rows && mysql_errno(m) != 0) break;
    while (const MYSQL_ROW r = rows ? mysql_fetch_row(rows.get()) : nullptr) {
      column_.emplace_back(r[0] == nullptr ? "" : r[0]);
    }
    if (mysql_more_results(m) == 0) {
      is_answered_ = true;
      return std::nullopt;
    }
    wait_while(mysql_next_result_start(&failed, m),
               [&](int ready) { return mysql_next_result_cont(&failed, m, ready); });
  }
  constexpr unsigned library_errors = 2000;
  constexpr unsigned later_server_errors = 3000;
  error_answer said = error_now();
  is_answered_ = said.number != 0 && (said.number < library_errors || said.number >= later_server_errors);
  return said;
}

void opening::ask(std::string_view statement) {
  if (const auto refused = try_to_ask(statement)) {
    const connection_error refusal = refused_entry(refused->number, refused->sentence);
    throw connection_error{refusal};
  }
}

std::string opening::text(std::string_view statement) {
  ask(statement);
  return column_.empty() ? "" : column_.front();
}

std::unique_ptr<sql::connection> dial(const settings& to, const owner_id& client,
                                      const std::optional<owner_id>& former, role as, sql::provision make,
                                      int stop) {
  opening way{to, client, as, stop};
  auto made = std::make_unique<connection>(way.run(former, make), client, to.names());
  if (way.is_bare()) made->expect_nothing();
  return made;
}

bool provide(const settings& to, int stop) {
  const owner_id nobody;
  return opening{to, nobody, role::calls, stop}.provide();
}

}  // namespace holdfast::mariadb
