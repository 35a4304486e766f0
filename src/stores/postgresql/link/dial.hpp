#pragma once

#include <memory>
#include <optional>

#include "base/owner_id.hpp"
#include "stores/postgresql/link/settings.hpp"
#include "stores/sql/link/connection.hpp"

namespace holdfast::postgresql {

/// Connects, checks the tables and routines, and listens to the client's channel. It first ends former
/// connections of the client at the server, so that no request of them is carried out later. Blocks for at
/// most the connect limit, and for the look-up of the host's name.
/// \param former the client whose connections are ended; if each connection has its own id, the id of the
/// last one.
/// \param make whether missing tables and routines are made.
/// \param stop an eventfd: gives up as soon as it can be read.
/// \throws runtime::connection_error.
[[nodiscard]] std::unique_ptr<sql::connection> dial(const settings& to, const owner_id& client,
                                                    const std::optional<owner_id>& former,
                                                    sql::provision make, int stop);

/// Makes the tables and routines if they are missing, and does nothing else.
/// \return whether it has made any. \throws runtime::connection_error.
[[nodiscard]] bool provide(const settings& to, int stop);

}  // namespace holdfast::postgresql
