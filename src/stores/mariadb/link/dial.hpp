#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/owner_id.hpp"
#include "stores/mariadb/link/settings.hpp"
#include "stores/sql/link/connection.hpp"

namespace holdfast::mariadb {

/// What a session of a client is for.
enum class role : std::uint8_t {
  calls,          // of tasks
  notifications,  // listens for notifications
};

/// Connects, and for calls looks for the tables and procedures. A former session of the
/// client in the same role is ended at the server first, so that nothing it sent is carried out later on.
/// Blocks, for at most the connect limit, but for the time that looking a host's name up takes.
/// \param former whose session is ended: the client's, or, where each has an id of its own, that of the last.
/// \param make whether tables and procedures that are not there are made.
/// \param stop an eventfd: gives up as soon as it can be read.
/// \throws runtime::connection_error.
[[nodiscard]] std::unique_ptr<sql::connection> dial(const settings& to, const owner_id& client,
                                                    const std::optional<owner_id>& former, role as,
                                                    sql::provision make, int stop);

/// Sees to it that the tables and procedures are there, as this Holdfast has them, and no more.
/// \return whether it has made any. \throws runtime::connection_error.
[[nodiscard]] bool provide(const settings& to, int stop);

}  // namespace holdfast::mariadb
