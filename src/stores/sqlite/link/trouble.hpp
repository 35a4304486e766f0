#pragma once

#include <sqlite3.h>
#include <string>

#include "core/machine.hpp"

namespace holdfast::sqlite {

/// The failure of an SQLite call, told for people: what is wrong with which file, and what to do.
/// \param path of the database.
[[nodiscard]] store::trouble trouble_of(sqlite3* db, int code, const std::string& path);

}  // namespace holdfast::sqlite
