#pragma once

#include <map>
#include <optional>
#include <string>

#include "store.hpp"

namespace holdfast::cli {

/// How often each command was carried out since the server started, those that scripts call included.
using command_counts = std::map<std::string, double>;

/// Asks the Redis server that the choice names, on a connection of its own. It counts for itself: what a
/// client believes to have sent is no evidence.
/// \return nothing where there is no such server: another kind of store, TLS, a user who may not ask.
[[nodiscard]] std::optional<command_counts> counted_by_server(const store_choice& choice);

}  // namespace holdfast::cli
