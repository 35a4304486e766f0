#pragma once

#include <vector>

#include "holdfast/diagnosis.hpp"
#include "stores/zookeeper/link/settings.hpp"

namespace holdfast::zookeeper {

/// Asks the servers of a URL about themselves, and looks at the nodes in a session of its own. No node is
/// made. Blocks: for each question to each address of a server at most 2 s or `connect_limit`, whichever is
/// less, and for the session twice `connect_limit`.
/// \param asks_for_world acl=world is in the URL, not a default.
/// \throws runtime::connection_error where no server answers.
[[nodiscard]] std::vector<finding> diagnose(const settings& of, bool asks_for_world);

}  // namespace holdfast::zookeeper
