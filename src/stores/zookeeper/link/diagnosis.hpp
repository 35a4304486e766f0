// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "stores/doctor/examination.hpp"
#include "stores/doctor/succession.hpp"
#include "stores/zookeeper/link/settings.hpp"

namespace holdfast::zookeeper {

/// Asks the servers of a URL about themselves, and tries its rights at the root in sessions of its own. No
/// node is made. Blocks: for each question to each address of a server at most 2 s or `connect_limit`,
/// whichever is less, and for the sessions three times `connect_limit`.
/// \param asks_for_world acl=world is in the URL, not a default.
/// \throws runtime::connection_error if no server answers.
[[nodiscard]] doctor::report diagnose(const settings& of, bool asks_for_world);

/// The lines of an answer, "Mode: leader", "tickTime=2000" or "zk_uptime\t17", as far as a condition names
/// them.
/// \return whether there were any lines of that kind.
bool set_fields(doctor::facts& of, std::string_view answer, std::string_view separator);
/// Adds the last transaction of a server, "Zxid: 0x100000002", if it says that.
void add_transaction(const doctor::facts& of_server, doctor::token_source& to);
/// The facts of all servers together.
void conclude(doctor::facts& ensemble, const std::vector<doctor::facts>& servers);
}  // namespace holdfast::zookeeper
