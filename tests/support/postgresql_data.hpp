// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "support/server_user.hpp"

namespace holdfast::test {

/// A new data folder of a PostgreSQL server whose programs are in `programs`, for it to run as `user`: with a
/// superuser "postgres", and a user "holdfast" who owns a database of that name; beside it there is template0
/// alone. Making one takes a second; it is made once for the build folder, and copied.
/// \throws std::runtime_error, with what initdb said.
void make_postgresql_data(const std::string& folder, const std::string& programs,
                          const std::optional<server_user>& user);

}  // namespace holdfast::test
