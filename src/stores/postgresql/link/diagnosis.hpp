#pragma once

#include <vector>

#include "holdfast/diagnosis.hpp"
#include "stores/postgresql/link/settings.hpp"

namespace holdfast::postgresql {

/// Asks the server of a URL about itself and the store, over a connection of its own. Blocks.
/// \throws runtime::connection_error if it does not let this user in.
[[nodiscard]] std::vector<finding> diagnose(const settings& of);

}  // namespace holdfast::postgresql
