#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/owner_id.hpp"
#include "stores/mariadb/link/settings.hpp"
#include "stores/sql/link/connection.hpp"

namespace holdfast::mariadb {

/// The role of a client's session.
enum class role : std::uint8_t {
  calls,          // of tasks
  notifications,  // listens for notifications
};

/// Connects, and for calls looks for the tables and procedures. It first ends a former session of the client
/// in the same role at the server, so that no request of it is carried out later. Blocks for at most the
/// connect limit, and for the look-up of the host's name.
/// \param former the client whose session is ended; if each session has its own id, the id of the last
/// session.
/// \param make whether missing tables and procedures are made.
/// \param stop an eventfd: gives up as soon as it can be read.
/// \throws runtime::connection_error.
[[nodiscard]] std::unique_ptr<sql::connection> dial(const settings& to, const owner_id& client,
                                                    const std::optional<owner_id>& former, role as,
                                                    sql::provision make, int stop);

/// Makes the tables and procedures of this Holdfast, and does nothing else.
/// \return whether it has made any. \throws runtime::connection_error.
[[nodiscard]] bool provide(const settings& to, int stop);

}  // namespace holdfast::mariadb
