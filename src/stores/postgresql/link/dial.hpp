#pragma once

#include <memory>
#include <optional>

#include "base/owner_id.hpp"
#include "stores/postgresql/link/settings.hpp"
#include "stores/sql/link/connection.hpp"

namespace holdfast::postgresql {

/// Connects, looks for the tables and routines, and hears the client's channel. Former
/// connections of the client are ended at the server first, so that nothing they sent is carried out later
/// on. Blocks, for at most the connect limit, but for the time that looking a host's name up takes.
/// \param former whose connections are ended: the client's, or, where each has an id of its own, that of the
/// last.
/// \param make whether tables and routines that are not there are made.
/// \param stop an eventfd: gives up as soon as it can be read.
/// \throws runtime::connection_error.
[[nodiscard]] std::unique_ptr<sql::connection> dial(const settings& to, const owner_id& client,
                                                    const std::optional<owner_id>& former,
                                                    sql::provision make, int stop);

/// Sees to it that the tables and routines are there, and no more.
/// \return whether it has made any. \throws runtime::connection_error.
[[nodiscard]] bool provide(const settings& to, int stop);

}  // namespace holdfast::postgresql
