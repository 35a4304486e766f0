#pragma once

#include <string>

#include "base/owner_id.hpp"
#include "runtime/io_deadline.hpp"
#include "stores/redis/link/connection.hpp"
#include "stores/redis/link/settings.hpp"
#include "stores/redis/link/stream.hpp"

namespace holdfast::redis {

using runtime::io_deadline;

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
