// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <libpq-fe.h>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/machine.hpp"
#include "runtime/io_deadline.hpp"
#include "stores/sql/link/connection.hpp"
#include "stores/sql/protocol/text.hpp"

namespace holdfast::postgresql {

struct finisher {
  void operator()(PGconn* c) const { PQfinish(c); }
  void operator()(PGresult* r) const { PQclear(r); }
  void operator()(PGnotify* n) const { PQfreemem(n); }
};
using handle = std::unique_ptr<PGconn, finisher>;
using result = std::unique_ptr<PGresult, finisher>;

/// libpq's message about its connection, in one line.
[[nodiscard]] failure failure_of(PGconn* connection);

/// The reason why a connection could not be made, from a connection after `make_talkative`.
[[nodiscard]] runtime::connection_error refused_entry(PGconn* connection);
/// To be called before connecting: errors get codes, which do not depend on the language, and warnings are
/// dropped, which libpq would write to the program's standard error.
void make_talkative(PGconn* connection);

/// The reason why the server refused a statement.
struct refusal {
  store::request_error reason;
  bool over = false;   // it would refuse the next statements of the session, too
  bool fatal = false;  // it has ended the session
};
[[nodiscard]] refusal refusal_of(const PGresult* refused);
/// Whether the reason is a missing routine, table or schema.
[[nodiscard]] bool is_missing(const PGresult* refused);
/// Whether the reason may be what another client of a pooler has left in the session.
[[nodiscard]] bool may_be_left(const PGresult* refused);
inline constexpr const char* left_by_others =
    "; or another client of the pooler has left it in the session (server_reset_query_always)";

inline constexpr const char* switched_session =
    "the connection pooler switched the session, so it does not pool sessions as pooler=session claims; use "
    "notify=poll instead, or connect directly";

/// How calls reach the server.
enum class session_use : std::uint8_t {
  own,     // one session for all calls: it listens, and keeps prepared statements
  shared,  // any session, for one transaction each: nothing stays in it
  kept,    // one that a pooler is said to keep for this client: it listens, and nothing else stays in it
};

/// A session in libpq's pipeline mode: calls are sent without waiting for earlier answers. Each call is a
/// transaction.
///
/// In a shared session a transaction begins with the settings of the call, see settle.sql, up to one Sync:
/// until then a pooler leaves the session to this client. One call is in flight at a time, since a pooler
/// need not know more. In a kept one, too, a call begins with its settings; and the connection is over where
/// it finds itself in another session, where nothing listens.
class connection final : public sql::connection {
 public:
  /// Takes over a session that is ready and has no call in flight.
  /// \param idle_limit how long the session continues to listen after the last call about a claim and the end
  /// of its ttl.
  /// \param backend of a kept session: its process at the server.
  /// \throws runtime::connection_error.
  connection(handle session, const owner_id& client, const sql::naming& names, duration idle_limit,
             session_use use = session_use::own, std::string backend = {});

  [[nodiscard]] int descriptor() const override { return PQsocket(session_.get()); }
  [[nodiscard]] short events() const override;
  [[nodiscard]] std::size_t depth() const override;
  void send(const sql::call& request) override;
  [[nodiscard]] std::vector<sql::answer> proceed() override;
  [[nodiscard]] std::vector<store::notification> take_notifications() override;
  [[nodiscard]] std::optional<runtime::connection_error> ended() const override { return end_; }
  [[nodiscard]] std::optional<duration> notified_for() const override {
    if (use_ == session_use::shared) return std::nullopt;
    return std::chrono::seconds{60};
  }
  [[nodiscard]] sql::changes take_changes() override { return std::exchange(changes_, {}); }

 private:
  void hear_while_needed(const sql::call& next);
  void begin_or_end_hearing(bool on);
  void prepare(const sql::call& request, const std::vector<Oid>& types);
  void send_alone(const std::string& statement);
  void flush();
  void take_in(const PGresult* r);
  void check_place(const PGresult* r) const;
  void take_refusal(const PGresult* r);
  void take_in_notifications();
  [[noreturn]] void break_off() const;

  handle session_;
  sql::naming names_;
  const session_use use_;
  const std::string backend_;
  std::set<std::string> prepared_;
  struct under_way {
    std::string routine;
    bool preparing = false;
    bool own = false;      // a call of the connection itself: its answer is dropped
    bool locates = false;  // the next row says which session it is in
  };
  std::deque<under_way> due_;
  sql::answer coming_;  // the answer to the first call in flight
  std::vector<sql::answer> answers_;
  std::vector<store::notification> notifications_;
  std::optional<runtime::connection_error> end_;
  const duration idle_limit_;
  bool hears_ = false;                   // whether it listens to the client's channel
  duration longest_ttl_{};               // the longest ttl of claims made or kept over this connection
  boot_clock::time_point needed_until_;  // until then the client may have a claim
  sql::changes changes_;
  bool unsent_ = false;
};

}  // namespace holdfast::postgresql
