// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
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

namespace holdfast::mariadb {

/// The address of a database, and the credentials.
struct settings {
  sql::link_settings link;
  std::string host = "127.0.0.1";
  std::uint16_t port = 3306;
  std::string socket;  // the path of a Unix socket; then host and port are not used
  std::string user;
  runtime::password password;
  std::string database;
  std::string schema;  // the database of the table, as errors and the catalogue name it
  std::string table = "holdfast_locks";
  bool create = true;     // whether missing tables and procedures are made
  bool one_node = false;  // all clients use this one node of a Galera cluster

  struct {
    bool on = false;
    std::string ca;    // a file of trusted certificates; empty: those of the system
    std::string cert;  // the client's, for servers that ask for one
    std::string key;
    bool verify = true;
  } tls;

  [[nodiscard]] sql::naming names() const { return {schema, table, '`'}; }
};

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

/// Makes the table of fences and its procedure, or replaces the procedure by that of this version.
/// \return whether anything was missing or different. \throws runtime::connection_error.
[[nodiscard]] bool provide_fences(const settings& to, int stop);

/// Asks the server of a URL about itself and the store, over a connection of its own. Blocks.
/// \throws runtime::connection_error if it does not let this user in.
[[nodiscard]] doctor::report diagnose(const settings& of);

}  // namespace holdfast::mariadb
