#pragma once

#include <string>

#include "base/owner_id.hpp"
#include "runtime/io_deadline.hpp"
#include "stores/redis/link/connection.hpp"
#include "stores/redis/link/settings.hpp"
#include "stores/redis/link/stream.hpp"

namespace holdfast::redis {

using runtime::io_deadline;

/// Connects to `to.server` and introduces itself. Blocks.
/// \param secure null: no TLS.
/// \param client on whose channel notifications are to be heard.
/// \param tracked whether changes of keys are to be told.
/// \param former the connection before: killed at the server first, so that nothing it sent is carried out
/// later on.
/// \throws connection_error, parser::garbage.
[[nodiscard]] connection dial(const settings& to, const tls_context* secure, io_deadline limit,
                              const owner_id& client, bool tracked, const std::string& former);

/// Appends the command that makes the server report changes of keys.
void append_tracking(std::string& out, const std::string& prefix);

}  // namespace holdfast::redis
