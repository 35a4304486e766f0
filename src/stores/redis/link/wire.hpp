// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/request_pipeline.hpp"
#include "stores/quorum/protocol/ballots.hpp"
#include "stores/redis/link/connection.hpp"
#include "stores/redis/protocol/cluster.hpp"
#include "stores/redis/protocol/failover_guard.hpp"
#include "stores/redis/protocol/request_fsm.hpp"
#include "stores/redis/protocol/resp.hpp"
#include "stores/redis/protocol/server_address.hpp"

namespace holdfast::redis {

/// A request, or a command of the link itself.
struct pending_command final : runtime::pending_request<request_fsm::outcome, tickets::link::on_reply> {
  using base = runtime::pending_request<request_fsm::outcome, tickets::link::on_reply>;

  std::optional<request_fsm> fsm;
  std::string command;                                // of the link itself
  std::function<void(const value* reply)> on_answer;  // to it, the last; none: null, and `problem` says why
  bool is_ping = false;
  server_address server;      // to which it was sent
  bool is_asking = false;     // the server was named by ASK
  unsigned redirections = 0;  // so far
  /// Takes a request that a server of a cluster has refused, since another one has its slot, or the slot is
  /// on its way. Under the core lock.
  std::function<void(pending_command& refused)> redirected;
  std::chrono::steady_clock::time_point sent;  // when last
  std::size_t replies_due = 1;
  std::vector<value> replies;
  std::uint64_t replied_at = 0;  // the number of the last message of the reply
  std::optional<store::request_error> problem;

  /// No caller waits for the reply to a release.
  [[nodiscard]] bool is_urgent() const { return !fsm || !ballots::is_release(fsm->request()); }
  /// See pending_request.
  void fail(const store::request_error& reason) {
    if (!problem) problem = reason;
    base::fail(reason);
  }
  void complete();
};

/// An established connection to a server: see runtime::pipelined_wire.
class wire {
 public:
  using request = pending_command;

  /// \param in, marker must outlive the wire.
  wire(connection established, bool is_tls, const dialect& in, const guard_marker& marker);

  [[nodiscard]] int descriptor() const { return connection_.stream->descriptor(); }
  [[nodiscard]] short events() const;
  /// None until the server has answered a ping: its answer may forbid what is queued.
  [[nodiscard]] std::size_t depth() const {
    return is_pinged_ || needs_ping() ? 0 : std::numeric_limits<std::size_t>::max();
  }
  /// A connection may outlive a demotion of its server and a promotion: see failover_guard. What it reads
  /// meanwhile says nothing of that, and anybody may send it notifications.
  [[nodiscard]] bool needs_ping() const {
    return in_.guard.count() != 0 && marker_.is_known() &&
           std::chrono::steady_clock::now() >= last_question_ + ask_every;
  }
  [[nodiscard]] std::optional<connection_error> retirement() const { return std::nullopt; }
  void put(pending_command& c);
  void write_out();
  /// The reply to a ping. \throws connection_error where the server is of no use.
  /// \param moved the question has to be asked again at once, since its marker has moved.
  void hear_ping(const value& reply, bool moved);

  /// See store::stream_position.
  [[nodiscard]] std::uint64_t number() const { return number_; }

  /// Whether a grant that comes now proves nothing. A server of a cluster that stood still while its replica
  /// took its place carries out what lies in its sockets before it learns of that. Then nobody has asked it
  /// lately, or the request is an old one.
  [[nodiscard]] bool may_be_outdated() const { return is_outdated(last_question_); }

  // The reader, without the wire mutex:
  [[nodiscard]] bool may_be_outdated(const pending_command& answered) const {
    return is_outdated(answered.sent);
  }
  /// Appends the messages that have come: where there are many, the first of them, and the descriptor can
  /// still be read. \param buffer for the bytes.
  /// \throws connection_error, parser::garbage.
  void read(std::vector<char>& buffer, std::vector<value>& messages);
  /// The command that ends this connection over another one; may be empty.
  [[nodiscard]] std::string take_kill_command() { return std::move(connection_.kill); }
  /// Null: the server has none.
  [[nodiscard]] shard_channels* channels() { return channels_.get(); }
  [[nodiscard]] const failover_guard& guard() const { return connection_.guard; }

 private:
  [[nodiscard]] bool is_outdated(std::chrono::steady_clock::time_point since) const {
    return in_.guard.count() != 0 && marker_.is_in_slot() &&
           std::chrono::steady_clock::now() >= since + ask_every;
  }

  const std::uint64_t number_;
  connection connection_;
  const bool is_tls_;
  const dialect& in_;
  const guard_marker& marker_;
  std::unique_ptr<shard_channels> channels_;
  static constexpr std::chrono::seconds ask_every{1};
  std::chrono::steady_clock::time_point last_question_;  // when last, by a ping or before
  bool is_pinged_ = false;                               // and has not answered
  bool asks_in_full_ = false;                            // the server does not know the question's script
  static constexpr unsigned most_moves = 100;
  unsigned moves_ = 0;  // of the marker, since the server last answered the question
  std::string unsent_;  // bytes that the socket did not accept
};

}  // namespace holdfast::redis
