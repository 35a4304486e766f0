// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/owner_id.hpp"
#include "runtime/io_deadline.hpp"
#include "stores/quorum/protocol/server_set.hpp"
#include "stores/redis/link/settings.hpp"
#include "stores/redis/link/stream.hpp"
#include "stores/redis/protocol/failover_guard.hpp"
#include "stores/redis/protocol/resp.hpp"

namespace holdfast::redis {

using runtime::io_deadline;

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
  quorum::self_description quorum;  // where the server is one of several
  bool has_shard_channels = false;  // the server is one of a cluster, and has Redis 7's sharded channels
};

/// The first commands of a connection and their replies, as a blocking exchange.
class introduction {
 public:
  introduction(connection& with, const io_deadline& limit) : with_{with}, limit_{limit} {}

  /// \throws connection_error.
  void send(std::string_view bytes);
  /// The next reply. Notifications that come before it are kept in the connection.
  /// \throws connection_error, parser::garbage.
  [[nodiscard]] value hear();
  /// One command and its reply.
  [[nodiscard]] value ask(std::initializer_list<std::string_view> arguments);

 private:
  connection& with_;
  const io_deadline& limit_;
};

/// Appends the greeting, which logs in if there is anybody to log in.
void append_hello(std::string& out, const std::optional<login_data>& login);
/// \throws connection_error where the reply is an error: without the password, which some servers repeat.
void require_no_error(const value& reply, const std::optional<login_data>& login);
/// A field of what HELLO answers; null where it is not there.
[[nodiscard]] const value* field_of(const value& hello, std::string_view name);

/// What a client wants of a connection.
struct wishes {
  owner_id client;  // on whose channel notifications are to be heard
  /// The command that ends the connection before: sent first, so that nothing of it is carried out later on.
  std::string former;
  const guard_marker& marker;
  std::string known_marker;  // a copy of what it said on the connection before
};

/// What one of several servers says of itself. An error to the question leaves the client unchecked there.
/// \param set the reply to GET of quorum_key. \param run the id of the server's process; empty: not told.
[[nodiscard]] quorum::self_description description_of(const value& set, std::string run);

/// Connects to a server and introduces itself. Blocks.
/// \param secure null: no TLS. \throws connection_error, parser::garbage.
[[nodiscard]] connection dial(const settings& in, const server_address& to, const tls_context* secure,
                              io_deadline limit, const wishes& of);

}  // namespace holdfast::redis
