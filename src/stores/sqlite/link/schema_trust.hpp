#pragma once

#include <array>
#include <sqlite3.h>

namespace holdfast::sqlite {

/// Lets SQLite run nothing of a file's own schema, and read no values that no client writes: whoever may
/// write the file may have put triggers and views there, which every other client would run, without an end
/// or with its statements left out.
inline void trust_no_schema(sqlite3* db) {
  constexpr std::array off{SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW,
                           SQLITE_DBCONFIG_ENABLE_FKEY, SQLITE_DBCONFIG_TRUSTED_SCHEMA};
  for (const int option : off) sqlite3_db_config(db, option, 0, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  constexpr int longest_value = 16 << 20;  // bytes; as the other stores
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, longest_value);
}

}  // namespace holdfast::sqlite
