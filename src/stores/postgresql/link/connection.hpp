#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stores/postgresql/link/handle.hpp"
#include "stores/sql/link/connection.hpp"

namespace holdfast::postgresql {

/// A session in libpq's pipeline mode: calls are sent without waiting for earlier answers. Each call is a
/// transaction.
class connection final : public sql::connection {
 public:
  /// Takes over a session that is ready and has no call in flight.
  /// \param idle_limit how long the session continues to listen after the last call about a claim and the end
  /// of its ttl.
  /// \throws runtime::connection_error.
  connection(handle session, const owner_id& client, const sql::naming& names, duration idle_limit);

  [[nodiscard]] int descriptor() const override { return PQsocket(session_.get()); }
  [[nodiscard]] short events() const override;
  [[nodiscard]] std::size_t depth() const override;
  void send(const sql::call& request) override;
  [[nodiscard]] std::vector<sql::answer> proceed() override;
  [[nodiscard]] std::vector<store::notification> take_notifications() override;
  [[nodiscard]] std::optional<runtime::connection_error> ended() const override { return end_; }
  [[nodiscard]] std::optional<duration> notified_for() const override { return std::chrono::seconds{60}; }
  [[nodiscard]] sql::changes take_changes() override { return std::exchange(changes_, {}); }

 private:
  void hear_while_needed(const sql::call& next);
  void begin_or_end_hearing(bool on);
  void prepare(const sql::call& request);
  void flush();
  void take_in(const PGresult* r);
  void take_refusal(const PGresult* r);
  void take_in_notifications();
  [[noreturn]] void break_off() const;

  handle session_;
  sql::naming names_;
  std::set<std::string> prepared_;
  struct under_way {
    std::string routine;
    bool preparing = false;
    bool own = false;  // a call of the connection itself: its answer is dropped
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
