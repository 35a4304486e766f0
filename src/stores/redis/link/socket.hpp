#pragma once

#include <memory>
#include <string>

#include "runtime/io_deadline.hpp"
#include "stores/redis/link/stream.hpp"
#include "stores/redis/protocol/server_address.hpp"
#include "stores/redis/protocol/value.hpp"

namespace holdfast::redis {

/// Connects to a server, over TCP or a Unix socket, and begins TLS. Blocks.
/// \param secure null: no TLS. \throws connection_error.
[[nodiscard]] std::unique_ptr<stream> connect_stream(const server_address& to, const tls_context* secure,
                                                     runtime::io_deadline& limit);

/// The client's address as the server sees it; empty for Unix sockets, which have none.
/// \param client_info the reply to CLIENT INFO, if the server has the command (6.2) and the user may call it:
/// a proxy may be in between.
[[nodiscard]] std::string own_address(const value& client_info, int socket);

}  // namespace holdfast::redis
