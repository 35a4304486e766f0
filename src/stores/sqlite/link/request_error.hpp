#pragma once

#include <sqlite3.h>
#include <string>

#include "core/machine.hpp"

namespace holdfast::sqlite {

/// The failure of an SQLite call as a message for users: the file, the failure, and the remedy.
/// \param path of the database.
[[nodiscard]] store::request_error request_error_of(sqlite3* db, int code, const std::string& path);

}  // namespace holdfast::sqlite
