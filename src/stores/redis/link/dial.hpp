#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/owner_id.hpp"
#include "stores/redis/link/settings.hpp"
#include "stores/redis/link/stream.hpp"
#include "stores/redis/protocol/failover_guard.hpp"
#include "stores/redis/protocol/resp.hpp"

namespace holdfast::redis {

/// A connection that is ready for commands: it speaks RESP3, is authenticated, and is subscribed to the
/// client's channel.
struct connection {
  std::unique_ptr<redis::stream> stream;
  redis::parser parser;      // with what has come already
  std::vector<value> early;  // notifications that came before anybody listened
  /// The command that, sent over another connection, ends this one at the server; may be empty.
  std::string kill;
  bool durable = false;  // the server keeps over a restart all that it has confirmed
  failover_guard guard;
};

/// Connects and introduces itself. Blocks, for at most the connect limit.
/// \param secure null: no TLS.
/// \param client on whose channel notifications are to be heard.
/// \param tracked whether changes of keys are to be told.
/// \param former the connection before: killed at the server first, so that nothing it sent is carried out
/// later on.
/// \param stop an eventfd: gives up as soon as it can be read.
/// \throws connection_error.
[[nodiscard]] connection dial(const settings& to, const tls_context* secure, const owner_id& client,
                              bool tracked, const std::string& former, int stop);

/// Appends the command that makes the server report changes of keys.
void append_tracking(std::string& out, const std::string& prefix);

}  // namespace holdfast::redis
