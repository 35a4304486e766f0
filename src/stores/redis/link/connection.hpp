#pragma once

#include <memory>
#include <string>
#include <vector>

#include "stores/redis/link/stream.hpp"
#include "stores/redis/protocol/failover_guard.hpp"
#include "stores/redis/protocol/resp.hpp"
#include "stores/redis/protocol/value.hpp"

namespace holdfast::redis {

/// A connection that is ready for commands: it speaks RESP3, is authenticated, and is subscribed to the
/// client's channel.
struct connection {
  std::unique_ptr<redis::stream> stream;
  redis::parser parser;      // with what has come already
  std::vector<value> early;  // notifications that came before anybody listened
  /// The command that, sent over another connection, ends this one at the server; may be empty.
  std::string kill;
  failover_guard guard;
  bool has_answered_guard = false;  // whether it grants is known
  struct {
    value set;                      // the reply to GET of quorum_key
    std::string run;                // the id of the server's process; empty: not told
  } quorum;                         // where the server is one of several
  bool has_shard_channels = false;  // the server is one of a cluster, and has Redis 7's sharded channels
};

}  // namespace holdfast::redis
