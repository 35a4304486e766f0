#pragma once

#include <span>
#include <vector>

#include "stores/doctor/examination.hpp"
#include "stores/postgresql/link/settings.hpp"

namespace holdfast::postgresql {

/// Asks the server of a URL about itself and the store, over a connection of its own. Blocks.
/// \throws runtime::connection_error if it does not let this user in.
[[nodiscard]] std::vector<finding> diagnose(const settings& of);

/// Of a server with a store, and of each right that nobody needs.
[[nodiscard]] std::span<const doctor::condition> conditions();
[[nodiscard]] std::span<const doctor::condition> excess_conditions();

}  // namespace holdfast::postgresql
