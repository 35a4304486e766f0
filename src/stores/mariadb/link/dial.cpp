// SPDX-License-Identifier: Apache-2.0
#include "stores/mariadb/link/dial.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <functional>
#include <mutex>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "runtime/io_deadline.hpp"
#include "runtime/measurement.hpp"
#include "runtime/signals.hpp"
#include "runtime/wakeup_fd.hpp"
#include "stores/mariadb/link/conditions.hpp"
#include "stores/mariadb/link/connection.hpp"
#include "stores/mariadb/protocol/schema.hpp"
#include "stores/mariadb/protocol/texts.hpp"
#include "stores/sql/link/conditions.hpp"

namespace holdfast::mariadb {

namespace {

using doctor::facts;
using runtime::connection_error;
using sql::mariadb::existing;

constexpr unsigned long packet_limit = 16UL << 20U;  // the memory that a hostile server may use
constexpr std::size_t stack_size = 256UL << 10U;     // of non-blocking calls: TLS and name look-ups need it
constexpr unsigned of_another_user = 1095;
constexpr unsigned no_such_table = 1146;
constexpr unsigned no_such_variable = 1193;
constexpr unsigned no_such_procedure = 1305;

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

/// Ends the connection of a socket at a deadline, or when the client is closed, for a call that waits for it
/// by itself: a peer that sends a byte now and again would keep the call waiting for days.
class watched_socket {
 public:
  /// \throws connection_error without a thread or a descriptor.
  watched_socket(int socket, const runtime::io_deadline& limit)
      : limit_{limit}, socket_{::fcntl(socket, F_DUPFD_CLOEXEC, 0)}, done_{::eventfd(0, EFD_CLOEXEC)} {
    try {
      if (socket_ < 0 || done_ < 0) throw connection_error{{errc::exhausted, "out of file descriptors"}};
      thread_ = runtime::quiet_thread([this] { watch(); });
    } catch (...) {
      if (socket_ >= 0) ::close(socket_);
      if (done_ >= 0) ::close(done_);
      throw runtime::caught_connection_error();
    }
  }
  ~watched_socket() {
    join();
    ::close(socket_);
    ::close(done_);
  }
  watched_socket(const watched_socket&) = delete;
  watched_socket& operator=(const watched_socket&) = delete;

  /// Called after the call. \throws connection_error where the connection was ended.
  void end_watch() {
    join();
    if (ended_) std::rethrow_exception(ended_);
  }

 private:
  void watch() {
    try {
      limit_.wait(done_, POLLIN);
    } catch (const connection_error&) {
      ended_ = std::current_exception();
      ::shutdown(socket_, SHUT_RDWR);
    }
  }
  void join() noexcept {
    if (!thread_.joinable()) return;
    ::eventfd_write(done_, 1);
    thread_.join();
  }

  const runtime::io_deadline limit_;
  int socket_;  // a copy: the call may close its own, and another may get that number
  int done_;
  std::exception_ptr ended_;
  std::thread thread_;
};

/// Lines "name=value".
void set_all(facts& of, const std::vector<std::string>& lines) {
  for (const std::string& each : lines) {
    const std::size_t at = std::min(each.find('='), each.size());
    of.set(each.substr(0, at), each.substr(std::min(at + 1, each.size())));
  }
}

/// An error that the server returned.
struct error_answer {
  unsigned number;
  std::string sentence;
  [[nodiscard]] connection_error refusal() const { return refused_entry(number, sentence); }
};

/// Takes the first field off a line of an answer, in which CHAR(31) separates the fields.
std::string_view take_field(std::string_view& line) {
  const std::string_view value = line.substr(0, line.find('\x1f'));
  line.remove_prefix(std::min(line.size(), value.size() + 1));
  return value;
}

/// A session that is being set up.
class opening {
 public:
  opening(const settings& to, const owner_id& client, role as, int stop)
      : to_{to}, names_{to.names()}, client_{client}, as_{as}, limit_{to.link.connect_limit, stop} {}

  [[nodiscard]] handle run(const std::optional<owner_id>& former, sql::provision make) {
    make_ = make;
    if (is_shared_) {
      connect();
      check_server();
      static_cast<void>(provide_tables(existing::kept));
      return std::move(session_);
    }
    begin();
    if (former) end_session(*former);
    if (former != client_) take_lock();
    // The session for notifications sleeps in a statement, which would be in the slow log each time. If the
    // user may not change that setting, it is.
    if (as_ == role::notifications) static_cast<void>(try_to_ask("SET SESSION long_query_time = 31536000"));
    if (as_ == role::calls) {
      check_server();
      if (to_.link.session) bind_to_session(*to_.link.session);
      static_cast<void>(provide_tables(existing::kept));
    }
    return std::move(session_);
  }

  /// Whether there are no tables, and none were to be made.
  [[nodiscard]] bool is_bare() const { return bare_; }

  /// \return whether it has made any.
  [[nodiscard]] bool provide() {
    connect();
    if (!is_shared_) use_settings();
    check_server();
    return provide_tables(existing::replaced);
  }

  /// \return whether it has made or changed anything.
  [[nodiscard]] bool provide_fences() {
    begin();
    check_server();
    const sql::naming names = sql::fences_in(to_.schema, '`');
    if (has_fences(names)) return false;
    make(sql::mariadb::fences_of(names), existing::replaced);
    // Another user may have made the table in between.
    if (has_fences(names)) return true;
    throw connection_error{
        {errc::unavailable, "the procedure " + names.quoted("fence") + " was replaced by another user"}};
  }

  /// Reads what the server says of itself and of the store; changes and locks nothing, and calls no procedure
  /// that is not Holdfast's.
  [[nodiscard]] doctor::report examine() {
    begin();
    check_version();
    sql::examination found{facts{to_.link.place}, {}};
    facts& said = found.said;
    const bool is_mariadb = mariadb_connection(session_.get()) != 0;
    said.set("product", is_mariadb ? "MariaDB" : "MySQL");
    // Before the server has a say.
    said.set("grant", "GRANT EXECUTE ON PROCEDURE each TO this user; holdfast schema URL --apply");
    said.set("careless_remedy",
             "innodb_flush_log_at_trx_commit = 1, sync_binlog = 1 and innodb_flush_method = O_DIRECT in the "
             "option "
             "file, the first two also by SET GLOBAL");
    said.set_flag("session", to_.link.session.has_value());
    sql::set_polling(said, to_.link);
    // What is locked is refused in time to look at the rest.
    const auto patience = std::chrono::duration_cast<std::chrono::seconds>(to_.link.connect_limit / 8);
    ask("SET SESSION lock_wait_timeout = " + std::to_string(std::max<std::int64_t>(patience.count(), 1)));
    // What is refused leaves the other parts as they are. An answer that does not come ends the examination,
    // because the session is of no use then.
    const auto examine_part = [&](const char* part, const std::function<void()>& read) {
      std::string problem = "the session is over";
      try {
        if (is_answered_) return read();
      } catch (const connection_error& c) {
        problem = c.reason.message;
      }
      found.add_unread(part, problem);
    };
    examine_part("settings", [&] {
      ask(sql::mariadb::text::conditions);
      set_all(said, column_);
      if (said.text("transaction_read_only") == "yes") {
        said.set(
            "server_refusal",
            "its transactions are READ ONLY; SET GLOBAL tx_read_only = OFF (MySQL: transaction_read_only), "
            "and in the option file");
      }
    });
    examine_part("server", [&] {
      try {
        check_server();
      } catch (const connection_error& c) {
        said.set("server_refusal", c.reason.message);
      }
      said.set_flag("is_usable", !said.has("server_refusal"));
    });
    examine_part("replicas", [&] {
      if (!is_mariadb) return;
      ask("SELECT CONCAT('slaves_connected=', variable_value) FROM information_schema.global_status "
          "WHERE variable_name = 'Slaves_connected'");
      set_all(said, column_);
    });
    examine_part("clock", [&] {
      doctor::set_clock(said, runtime::clock_ahead([this] {
                          return std::chrono::microseconds{sql::number_in(
                              text("SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)"))};
                        }));
    });
    examine_part("store", [&] { read_store(said); });
    examine_part("rights of others", [&] {
      const bool sees = may_see(with_names(sql::mariadb::text::writers));
      said.set_flag("sees_writers", sees);
      if (!sees) return;
      said.set("writers", static_cast<std::int64_t>(column_.size()));
      examine_excess(said.subject, found.more);
    });
    examine_part("session", [&] { leave_nothing(); });
    return found.conclude(conditions::server_conditions);
  }

 private:
  // ---- statements

  /// \param go_on gets the events that are ready, and returns the events to wait for; zero: done.
  template <class Function>
  void wait_while(int waiting, Function go_on) {
    while (waiting != 0) {
      limit_.wait(mysql_get_socket(session_.get()), events_of(waiting));
      const int ready = ready_of(session_.get(), waiting);
      if (ready != 0) waiting = go_on(ready);
    }
  }

  /// Stores the first column of the answer in `column_`. \throws connection_error if the session is over.
  std::optional<error_answer> try_to_ask(std::string_view statement) {
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

  void ask(std::string_view statement) {
    if (const auto refused = try_to_ask(statement)) throw refused->refusal();
  }

  [[nodiscard]] std::string text(std::string_view statement) {
    ask(statement);
    return column_.empty() ? "" : column_.front();
  }

  [[nodiscard]] error_answer error_now() const {
    return {mysql_errno(session_.get()), mysql_error(session_.get())};
  }

  // ---- the session

  void begin() {
    connect();
    use_settings();
  }
  void use_settings() {
    for (const std::string& setting : sql::mariadb::session_settings()) ask(setting);
  }
  /// Ends the settings of a session that others use.
  void leave_nothing() {
    if (!is_shared_) return;
    int failed = 0;
    wait_while(mysql_reset_connection_start(&failed, session_.get()),
               [&](int ready) { return mysql_reset_connection_cont(&failed, session_.get(), ready); });
    if (failed != 0) throw error_now().refusal();
  }

  void connect() {
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
    wait_while(
        mysql_real_connect_start(&connected, session_.get(), to_.socket.empty() ? to_.host.c_str() : nullptr,
                                 given(to_.user), given(password), to_.database.c_str(), to_.port,
                                 given(to_.socket), CLIENT_MULTI_RESULTS),
        [&](int ready) { return go_on_connecting(connected, ready); });
    if (connected == nullptr) throw error_now().refusal();
    end_blocking(mysql_get_socket(session_.get()));
    // Without verification, the library continues without TLS if the server has none.
    if (to_.tls.on && mysql_get_ssl_cipher(session_.get()) == nullptr) {
      throw sql::permanent(errc::unavailable, "the server does not offer TLS, and the URL asks for it");
    }
    limit_.begin("the server's first answers");
  }

  void set_options() {
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

  void set_tls() {
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

  /// The library does the TLS handshake within one call, on a blocking socket.
  int go_on_connecting(MYSQL*& connected, int ready) {
    const int socket = mysql_get_socket(session_.get());
    limit_blocking(socket, to_.link.connect_limit);
    if (!to_.tls.on) return mysql_real_connect_cont(&connected, session_.get(), ready);
    const runtime::no_sigpipe guard;  // OpenSSL writes to a connection that may have been ended
    watched_socket watched{socket, limit_};
    const int waiting = mysql_real_connect_cont(&connected, session_.get(), ready);
    watched.end_watch();
    return waiting;
  }

  void check_version() const {
    constexpr unsigned long oldest_mariadb = 100500;
    constexpr unsigned long oldest_mysql = 80029;
    const bool is_mariadb = mariadb_connection(session_.get()) != 0;
    const unsigned long version = mysql_get_server_version(session_.get());
    if (version < (is_mariadb ? oldest_mariadb : oldest_mysql)) {
      throw sql::permanent(errc::foreign_store, std::string{"the server is "} +
                                                    (is_mariadb ? "MariaDB " : "MySQL ") +
                                                    mysql_get_server_info(session_.get()) +
                                                    "; Holdfast needs MariaDB 10.5, MySQL 8.0.29, or newer");
    }
  }

  void check_server() {
    check_version();
    if (is_shared_ && mariadb_connection(session_.get()) == 0) {
      throw sql::permanent(errc::foreign_store,
                           "the server is MySQL, which cannot set for one call what calls need; notify=poll "
                           "works on MariaDB only");
    }
    if (is_shared_ && text("SELECT @@session.autocommit") != "1") {
      throw connection_error{{errc::unavailable,
                              "the session has autocommit = 0, and with notify=poll no client changes that; "
                              "look for it in the option file and in init_connect"}};
    }
    if (!sql::mariadb::is_writable(text("SELECT @@global.read_only"))) {
      throw connection_error{
          {errc::unavailable,
           "the server is a read-only replica; the store's URL has to lead to the primary"}};
    }
    if (!to_.link.session && !to_.one_node && is_clustered()) {
      throw sql::permanent(
          errc::foreign_store,
          "the server is a node of a Galera cluster, which may lose updates of rows, and so "
          "locks, also while nothing fails. Use a server that is in none; or lead all clients to "
          "this one node, and write galera=one-node into their URLs");
    }
  }

  [[nodiscard]] std::string lock_of(const owner_id& client) const {
    return '\'' + sql::mariadb::lock_of(client, as_ == role::notifications) + '\'';
  }

  /// Each session holds a lock with the client's random id and the role: the session that holds the lock is
  /// the one to end. The server frees the lock at the end of that session. A lock of this session's own id
  /// stays held.
  void end_session(const owner_id& of) {
    const std::string lock = lock_of(of);
    const std::string former = text("SELECT IS_USED_LOCK(" + lock + ")");
    if (!former.empty()) {
      const auto refused = try_to_ask("KILL " + former);  // the session may have ended meanwhile
      // Another user's session has the lock, so ours has lost it, and is over. Whoever sees others'
      // statements may have learned its name. In table mode this session is then without: the next one cannot
      // end it.
      if (refused && refused->number == of_another_user) return;
    }
    if (text("SELECT GET_LOCK(" + lock + ", 5)") != "1") {
      throw connection_error{
          {errc::unavailable, "the server has not ended a former session of this client in time"}};
    }
    if (of != client_) ask("DO RELEASE_LOCK(" + lock + ")");
  }

  /// Takes the lock by which others find this session and know that it lives.
  void take_lock() {
    if (text("SELECT GET_LOCK(" + lock_of(client_) + ", 0)") == "1") return;
    throw connection_error{{errc::unavailable, "another session holds the lock of this session's name"}};
  }

  [[nodiscard]] bool is_clustered() {
    const auto refused =
        try_to_ask("SELECT @@global.wsrep_on = 1 AND @@global.wsrep_provider NOT IN ('', 'none')");
    const bool clustered = !refused && !column_.empty() && column_.front() == "1";
    if (refused && refused->number != no_such_variable) {
      throw refused->refusal();
    }
    return clustered;
  }

  /// Makes the server end the session after this time without a request, and not before, because the client
  /// relies on the session until then. The server counts whole seconds. Its limits for reading and writing
  /// the rest of a packet may start right after the last answer.
  void bind_to_session(std::chrono::milliseconds timeout) {
    // The nodes of a Galera cluster share the tables, but not the locks that show which sessions live.
    if (is_clustered()) {
      throw sql::permanent(errc::foreign_store,
                           "the server is a node of a Galera cluster, whose nodes do not know one "
                           "another's sessions; use mode=table");
    }
    const std::string seconds = std::to_string(std::chrono::ceil<std::chrono::seconds>(timeout).count());
    ask("SET SESSION wait_timeout = " + seconds + ", net_read_timeout = " + seconds +
        ", net_write_timeout = " + seconds + ", @holdfast_session = x'" + client_.hex() + '\'');
  }

  // ---- Holdfast's tables and procedures

  /// \return whether fences are there as this user makes them. \throws connection_error for those of others.
  [[nodiscard]] bool has_fences(const sql::naming& names) {
    std::string statement = with_names(sql::mariadb::text::fences_there);
    sql::replace_all(statement, "{FENCES}", names.bare("fences"));
    sql::replace_all(statement, "{FENCE}", names.bare("fence"));
    ask(statement);
    if (std::ranges::all_of(column_, [](const auto& said) { return said.starts_with("Holdfast fence"); }))
      return column_ == sql::mariadb::fence_comments();
    throw sql::permanent(errc::foreign_store,
                         "the table " + names.quoted("fences") + " or the procedure " +
                             names.quoted("fence") +
                             " is not Holdfast's, or the table was altered or has a trigger");
  }

  enum class shortage : std::uint8_t { none, parts, all };

  /// \return whether it has made any.
  bool provide_tables(existing procedures_there) {
    try {
      if (find_shortage(procedures_there) == shortage::none) return false;
    } catch (const connection_error& c) {
      // While an administrator takes a store over, its procedures have two makers.
      if (c.reason.code != errc::permission_denied || make_ == sql::provision::none) throw;
    }
    // One client at a time, so that one user makes all procedures. Any user may hold this lock, so the wait
    // is limited.
    const std::string makers = "CONCAT('holdfast-make:', SHA1('" + names_.plain() + "'))";
    ask("SELECT GET_LOCK(" + makers + ", 2)");
    const bool made = make_missing(procedures_there);
    ask("DO RELEASE_LOCK(" + makers + ")");
    leave_nothing();
    return made;
  }
  [[nodiscard]] bool make_missing(existing procedures_there) {
    const shortage lacking = find_shortage(procedures_there);
    if (lacking == shortage::none) return false;
    try {
      if (is_shared_) use_settings();
      make_tables(procedures_there);
    } catch (const connection_error& c) {
      // A user does not see procedures that it may not call. It needs the others only.
      if (lacking == shortage::parts && procedures_there == existing::kept &&
          c.reason.code == errc::permission_denied)
        return false;
      throw;
    }
    refuse_untrusted(look_at_procedures());  // another user may have made one in between
    return true;
  }

  /// \throws connection_error if this client cannot use what there is, and may not make it.
  [[nodiscard]] shortage find_shortage(existing procedures_there) {
    const bool replaces = procedures_there == existing::replaced;
    const found_procedures procedures = look_at_procedures();
    if (!replaces) refuse_untrusted(procedures);
    const std::int64_t found = procedures.untrusted.empty() ? layout() : 0;
    const bool usable = found == sql::mariadb::layout;
    if (found != 0 && !usable) {
      throw sql::permanent(errc::foreign_store,
                           "the table " + names_.plain() + " has layout " + std::to_string(found) +
                               ", and this Holdfast needs layout " + std::to_string(sql::mariadb::layout) +
                               "; name another table with table=");
    }
    check_tables();
    if (usable && !replaces && is_shared_ && !procedures.isolate) {
      throw sql::permanent(errc::unavailable, "the procedures of " + names_.plain() +
                                                  " are those of an older version, which notify=poll cannot "
                                                  "use; run holdfast schema URL --apply");
    }
    if (usable && procedures.complete && (!replaces || (procedures.current && procedures.own)))
      return shortage::none;
    if (usable && !to_.create) return shortage::none;
    if (!to_.create) {
      throw sql::permanent(errc::unavailable,
                           "the table " + names_.plain() +
                               " does not exist, and create=0 forbids to create it; see holdfast schema");
    }
    if (make_ == sql::provision::none) {
      bare_ = !usable;
      return shortage::none;
    }
    // Procedures of two users would not be trusted.
    if (!replaces && !procedures.own) {
      if (usable) return shortage::none;
      throw sql::permanent(errc::permission_denied,
                           "the procedures of " + names_.plain() +
                               " belong to another user, and one is missing or may not be called; grant the "
                               "procedures, or run as a trusted user: holdfast schema URL --apply");
    }
    return usable ? shortage::parts : shortage::all;
  }

  /// \return the layout at the server; zero if there is none, or if a table is missing.
  [[nodiscard]] std::int64_t layout() {
    const auto refused = try_to_ask("CALL " + names_.quoted("layout") + "()");
    if (!refused) return column_.empty() ? 0 : std::strtoll(column_.front().c_str(), nullptr, 10);
    if (refused->number == no_such_procedure || refused->number == no_such_table) return 0;
    throw refused->refusal();
  }

  struct found_procedures {
    bool complete = false;
    bool current = true;    // the same as this Holdfast makes
    bool isolate = true;    // they choose the isolation of their transactions
    bool own = true;        // made by this user, with the rights of this user
    std::string untrusted;  // why they must not be called
  };

  /// Runs before any procedure is called, because a procedure of another program may do anything. Anybody may
  /// write the comment. A procedure with the rights of its caller could use those of this user. One of a
  /// second maker, who may make procedures in this database, could grant what is held.
  /// \throws connection_error where there are others of these names.
  [[nodiscard]] found_procedures look_at_procedures() {
    ask(with_names(sql::mariadb::text::procedures_there));
    found_procedures found;
    found.complete = column_.size() == sql::mariadb::procedure_parts().size();
    std::string_view first_maker;
    for (std::string_view line : column_) {
      const std::string name{take_field(line)};
      const std::string_view maker = take_field(line);
      const bool is_own = take_field(line) == "own";
      const bool is_lent = take_field(line) == "DEFINER";
      if (!line.starts_with(sql::mariadb::procedure_comment)) {
        throw sql::permanent(errc::foreign_store,
                             "the procedure " + name + " is not Holdfast's; name another table with table=");
      }
      found.current = found.current && line == sql::mariadb::current_comment();
      // Comments with a revision have one blank more.
      found.isolate = found.isolate && std::ranges::count(line, ' ') >= 3;
      found.own = found.own && is_own && is_lent;
      if (first_maker.empty()) first_maker = maker;
      if (!is_own && !is_lent) {
        found.untrusted =
            "the procedure " + name + " belongs to another user and would run with this user's rights";
      } else if (maker != first_maker && found.untrusted.empty()) {
        found.untrusted = "the procedures of " + names_.plain() + " belong to several users: " + name +
                          " to " + std::string{maker} + ", others to " + std::string{first_maker};
      }
    }
    return found;
  }

  static void refuse_untrusted(const found_procedures& procedures) {
    if (procedures.untrusted.empty()) return;
    throw sql::permanent(errc::permission_denied,
                         procedures.untrusted + "; run as a trusted user: holdfast schema URL --apply");
  }

  /// The names of these tables or procedures, quoted for a statement.
  [[nodiscard]] std::string listed(const std::vector<std::string_view>& parts) const {
    std::string all;
    for (const std::string_view part : parts) {
      all.append(all.empty() ? "'" : ", '").append(names_.bare(part)).append("'");
    }
    return all;
  }

  /// Holdfast's tables have a comment that says so, also if their creation was interrupted. A user that may
  /// only call the procedures sees no tables.
  /// \throws connection_error where there are others of these names.
  void check_tables() {
    std::vector<std::string> comments;
    for (const std::string_view part : sql::mariadb::table_parts()) {
      comments.push_back(sql::mariadb::comment_of(part));
    }
    ask("SELECT table_comment FROM information_schema.tables WHERE table_schema = '" + to_.schema +
        "' AND table_name IN (" + listed(sql::mariadb::table_parts()) + ")");
    const bool ours = std::all_of(column_.begin(), column_.end(), [&](const std::string& comment) {
      return std::find(comments.begin(), comments.end(), comment) != comments.end();
    });
    if (ours) return;
    throw sql::permanent(errc::foreign_store, "the table " + names_.plain() +
                                                  ", or a table named after it, is not Holdfast's, or has "
                                                  "another layout; name another table with table=");
  }

  /// Several clients may do this at once: each statement keeps existing objects, or replaces them by the
  /// same.
  void make_tables(existing procedures_there) {
    try {
      make(sql::mariadb::schema_of(names_, procedures_there), procedures_there);
    } catch (const connection_error& c) {
      if (c.reason.code != errc::permission_denied) throw;
      throw sql::permanent(errc::permission_denied, "there is no lock table " + names_.plain() +
                                                        " whose procedures this user may call and trust, and "
                                                        "the user may not create one, or replace those of "
                                                        "others; grant the procedures, or run as a user with "
                                                        "the rights: holdfast schema URL --apply (" +
                                                        c.reason.message + ")");
    }
  }

  void make(const std::vector<std::string>& statements, existing procedures_there) {
    constexpr unsigned is_there = 1304;
    for (const std::string& statement : statements) {
      auto refused = try_to_ask(statement);
      if (refused && refused->number == is_there) {
        if (procedures_there == existing::kept) continue;
        ask("DROP PROCEDURE IF EXISTS " +
            sql::mariadb::procedure_in(statement));  // MySQL cannot replace a procedure
        refused = try_to_ask(statement);
      }
      if (refused) throw refused->refusal();
    }
  }

  // ---- for the doctor

  /// Makes nothing.
  void read_store(facts& to) {
    to.set("table", names_.plain());
    make_ = sql::provision::none;
    try {
      static_cast<void>(provide_tables(existing::kept));
      if (bare_)
        to.set("shortage", "there is no " + names_.plain() + ", or this user may not call its procedures");
      if (!bare_) to.set_flag("outdated", !look_at_procedures().current);
    } catch (const connection_error& c) {
      if (c.retryable) throw;
      to.set("schema_refusal", c.reason.message);
    }
    ask(with_names(
        "SELECT routine_name FROM information_schema.routines WHERE routine_schema = '{SCHEMA}' AND "
        "routine_type = 'PROCEDURE' AND routine_name IN ({PROCEDURES})"));
    std::string lacking;
    for (const std::string_view each : sql::mariadb::procedure_parts()) {
      if (std::ranges::find(column_, names_.bare(each)) == column_.end())
        lacking.append(lacking.empty() ? "" : " ").append(names_.bare(each));
    }
    to.set("routines", static_cast<std::int64_t>(column_.size()));
    to.set_flag("is_there", !column_.empty());
    to.set_flag("may_make", true);
    to.set("lacking", lacking);
  }

  /// Asks what only a user with more rights may see. \return whether it may.
  [[nodiscard]] bool may_see(const std::string& statement) {
    const auto refused = try_to_ask(statement);
    if (!refused) return true;
    if (refused->refusal().reason.code == errc::permission_denied) return false;
    throw refused->refusal();
  }

  /// A statement of protocol/*.sql for the tables and procedures of this store.
  [[nodiscard]] std::string with_names(std::string_view statement) const {
    std::string all{statement};
    sql::replace_all(all, "{SCHEMA}", to_.schema);
    sql::replace_all(all, "{TABLES}", listed(sql::mariadb::table_parts()));
    sql::replace_all(all, "{PROCEDURES}", listed(sql::mariadb::procedure_parts()));
    return all;
  }

  /// The lines of writers.sql.
  void examine_excess(const std::string& subject, std::vector<finding>& to) const {
    for (std::string_view line : column_) {
      facts one{subject};
      for (const char* name : {"account", "name", "rights", "object", "part"}) {
        one.set(name, take_field(line));
      }
      const bool is_of_columns = !one.text("part").empty();
      one.set("range", is_of_columns ? " of columns" : "");
      one.set("remedy",
              doctor::fill(is_of_columns ? "SHOW GRANTS FOR {name}; REVOKE what names columns of {object}"
                                         : "REVOKE {rights} ON {object} FROM {name}",
                           one));
      doctor::examine(conditions::excess_conditions, one, to);
    }
  }

  const settings& to_;
  /// The session may be another client's as well, behind a proxy: nothing is to stay in it.
  const bool is_shared_ = to_.link.polling.has_value();
  const sql::naming names_;
  const owner_id& client_;
  const role as_;
  runtime::io_deadline limit_;
  sql::provision make_ = sql::provision::tables;
  bool bare_ = false;
  handle session_;
  bool is_answered_ = true;          // the last statement, by the server: another can be sent
  std::vector<std::string> column_;  // the first column of the last answer
};

}  // namespace

std::unique_ptr<sql::connection> dial(const settings& to, const owner_id& client,
                                      const std::optional<owner_id>& former, role as, sql::provision make,
                                      int stop) {
  opening way{to, client, as, stop};
  auto made = std::make_unique<connection>(way.run(former, make), client, to.names(),
                                           to.link.polling ? session_use::shared : session_use::own);
  if (way.is_bare()) made->expect_nothing();
  return made;
}

bool provide_fences(const settings& to, int stop) {
  const owner_id nobody = owner_id::random();
  return opening{to, nobody, role::calls, stop}.provide_fences();
}

bool provide(const settings& to, int stop) {
  const owner_id nobody;
  return opening{to, nobody, role::calls, stop}.provide();
}

doctor::report diagnose(const settings& of) {
  const runtime::wakeup_fd never;
  const owner_id nobody;
  return opening{of, nobody, role::calls, never.descriptor()}.examine();
}

}  // namespace holdfast::mariadb
