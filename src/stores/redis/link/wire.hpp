#pragma once

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

/// A request, or a command of the link itself, whose reply is ignored.
struct pending_command final : runtime::pending_request<request_fsm::outcome> {
  std::optional<request_fsm> fsm;
  std::string command;
  std::size_t replies_due = 1;
  std::vector<value> replies;
};

/// An established connection to a server: see runtime::pipelined_wire.
class wire {
 public:
  using request = pending_command;

  wire(connection established, bool is_tls) : connection_{std::move(established)}, is_tls_{is_tls} {}

  [[nodiscard]] int descriptor() const { return connection_.stream->descriptor(); }
  [[nodiscard]] short events() const;
  [[nodiscard]] std::size_t depth() const { return std::numeric_limits<std::size_t>::max(); }
  [[nodiscard]] std::optional<connection_error> retirement() const { return std::nullopt; }
  void put(pending_command& c);
  void write_out();

  // The reader, without the wire mutex:
  /// Appends the messages that have come. \param buffer for the bytes.
  /// \throws connection_error, parser::garbage.
  void read(std::vector<char>& buffer, std::vector<value>& messages);
  /// The command that ends this connection over another one; may be empty.
  [[nodiscard]] std::string take_kill_command() { return std::move(connection_.kill); }

 private:
  connection connection_;
  const bool is_tls_;
  std::string unsent_;  // bytes that the socket did not accept
};

}  // namespace holdfast::redis
