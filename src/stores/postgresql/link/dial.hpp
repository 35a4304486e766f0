// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/owner_id.hpp"
#include "runtime/password.hpp"
#include "stores/doctor/succession.hpp"
#include "stores/sql/link/connection.hpp"
#include "stores/sql/link/link.hpp"
#include "stores/sql/protocol/text.hpp"

namespace holdfast::postgresql {

/// The address of a database, and the credentials.
struct settings {
  sql::link_settings link;
  std::map<std::string, std::string> connection;  // libpq's own parameters, by their names
  runtime::password password;                     // in place of one among them
  sql::naming names{"", "holdfast_locks", '"'};
  bool fences = false;  // the names are those of fences
  std::string owner;    // a further role whose routines and tables are trusted
  bool create = true;   // whether missing tables and routines are made
  bool renew = false;   // whether routines of the same revision are replaced by those of this version
  std::vector<std::string> lockers{};             // roles that get the right to lock, or to call the fence
  std::vector<std::string> lookers{};             // roles that get the right to look
  duration idle_limit = std::chrono::minutes{1};  // how long an idle session continues to listen
  bool pooled = false;                            // through a pooler that keeps a session for one client
};

/// Connects, checks the tables and routines, and listens to the client's channel. It first ends former
/// connections of the client at the server, so that no request of them is carried out later; behind a pooler
/// of sessions only those that carry one out. For a client that polls it does neither, and leaves nothing in
/// the session. Blocks for at most the connect limit, and for the look-up of the host's name.
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

/// Makes the table of fences and its routine, or replaces the routine by that of this version, and grants the
/// right to call it.
/// \return whether anything was missing or different. \throws runtime::connection_error.
[[nodiscard]] bool provide_fences(const settings& to, int stop);

/// Asks the server of a URL about itself and the store, over a connection of its own. Blocks.
/// \throws runtime::connection_error if it does not let this user in.
[[nodiscard]] doctor::report diagnose(const settings& of);

}  // namespace holdfast::postgresql
