// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/wakeup_fd.hpp"
#include "stores/memory/link/table.hpp"
#include "stores/sql/link/connection.hpp"

namespace holdfast::test {

/// A real database server, asked by the link's own connections, one call after another: a connection for each
/// client, and one implementation for each server.
class routine_caller {
 public:
  routine_caller() = default;
  routine_caller(const routine_caller&) = delete;
  routine_caller& operator=(const routine_caller&) = delete;
  virtual ~routine_caller() = default;

  /// \return when it has been carried out. \throws runtime::connection_error, or when there is no answer
  /// within a minute.
  [[nodiscard]] sql::answer call(const sql::call& call, const owner_id& client);
  /// The notifications that have come since, to all clients that have ever called; to each in order.
  [[nodiscard]] std::vector<store::client_notification> take_notifications();
  /// Has the routines take it to be so many microseconds since the epoch, at all calls that follow.
  void set_clock(std::int64_t now_us);

  /// Whether the server has calls about several claims.
  [[nodiscard]] virtual bool joins() const { return false; }

  /// How long a server may take to let a client in, and for each answer.
  static constexpr std::chrono::milliseconds wait_limit{60'000};

 protected:
  [[nodiscard]] static sql::answer carry_out(sql::connection& on, const sql::call& call);

 private:
  struct session {
    std::unique_ptr<sql::connection> wire;
    std::int64_t now_us = 0;  // as it has been told
  };
  [[nodiscard]] session& session_of(const owner_id& client);

  /// \param stop as sql::dialler has it.
  [[nodiscard]] virtual std::unique_ptr<sql::connection> dial(const owner_id& client, int stop) const = 0;
  /// Those for the client of `wire`, one that has made calls.
  [[nodiscard]] virtual std::vector<store::notification> notifications_for(sql::connection& wire) = 0;
  /// Called with the tables and routines there: from now on these know no time but what "set_now", a new one,
  /// has told their session; everything else stays as it is.
  virtual void replace_clock() = 0;

  runtime::wakeup_fd never_;
  std::map<owner_id, session> sessions_;
  std::int64_t now_us_ = 0;  // zero: the server's own
};

/// The rows of a call. \throws std::runtime_error with what the server said where it would not.
const std::vector<sql::row>& rows_of(const sql::answer& a);

}  // namespace holdfast::test
