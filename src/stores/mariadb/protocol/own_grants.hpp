#pragma once

#include <optional>
#include <string_view>

#include "stores/mariadb/protocol/server_facts.hpp"

namespace holdfast::sql::mariadb {

/// What a line of SHOW GRANTS lets a user do to the tables or procedures of a store, that it does not need.
/// A maker of procedures, in whose name they run, needs rights to its database. Nobody needs rights to all
/// databases. Empty: nothing.
/// \param account of the user.
[[nodiscard]] std::optional<server_facts::grant> excess_in(std::string_view line, const naming& names,
                                                           bool is_maker, std::string_view account);

}  // namespace holdfast::sql::mariadb
