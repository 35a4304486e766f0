#pragma once

#include <chrono>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/request_pipeline.hpp"
#include "stores/redis/link/dial.hpp"
#include "stores/redis/protocol/request_fsm.hpp"
#include "stores/redis/protocol/value.hpp"

namespace holdfast::redis {

/// A request, or a command of the link itself.
struct pending_command final : runtime::pending_request<request_fsm::outcome> {
  std::optional<request_fsm> fsm;
  std::string command;  // of the link itself; its reply is ignored
  bool is_ping = false;
  std::size_t replies_due = 1;
  std::vector<value> replies;
};

/// An established connection to a server: see runtime::pipelined_wire.
class wire {
 public:
  using request = pending_command;

  /// \param in must outlive the wire.
  wire(connection established, bool is_tls, const dialect& in)
      : connection_{std::move(established)}, is_tls_{is_tls}, in_{in} {}

  [[nodiscard]] int descriptor() const { return connection_.stream->descriptor(); }
  [[nodiscard]] short events() const;
  /// None until the server has answered a ping: its answer may forbid what is queued.
  [[nodiscard]] std::size_t depth() const {
    return is_pinged_ || needs_ping() ? 0 : std::numeric_limits<std::size_t>::max();
  }
  /// A connection may outlive a demotion of its server and a promotion: see failover_guard. What it reads
  /// meanwhile says nothing of that, and anybody may send it notifications.
  [[nodiscard]] bool needs_ping() const {
    return in_.guard.count() != 0 && std::chrono::steady_clock::now() >= last_question_ + ask_every;
  }
  [[nodiscard]] std::optional<connection_error> retirement() const { return std::nullopt; }
  void put(pending_command& c);
  void write_out();
  /// The reply to a ping. \throws connection_error where the server is of no use.
  void hear_ping(const value& reply);

  // The reader, without the wire mutex:
  /// Appends the messages that have come. \param buffer for the bytes.
  /// \throws connection_error, parser::garbage.
  void read(std::vector<char>& buffer, std::vector<value>& messages);
  /// The command that ends this connection over another one; may be empty.
  [[nodiscard]] std::string take_kill_command() { return std::move(connection_.kill); }

 private:
  connection connection_;
  const bool is_tls_;
  const dialect& in_;
  static constexpr std::chrono::seconds ask_every{1};
  std::chrono::steady_clock::time_point last_question_ =
      std::chrono::steady_clock::now();  // when last, by a ping or before
  bool is_pinged_ = false;               // and has not answered
  bool asks_in_full_ = false;            // the server does not know the question's script
  std::string unsent_;                   // bytes that the socket did not accept
};

}  // namespace holdfast::redis
