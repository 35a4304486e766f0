#pragma once

#include <cstdint>
#include <string>

#include "stores/sql/link/link.hpp"
#include "stores/sql/protocol/call.hpp"

namespace holdfast::mariadb {

/// Where a database is, and how to get in.
struct settings {
  sql::link_settings link;
  std::string host = "127.0.0.1";
  std::uint16_t port = 3306;
  std::string socket;  // the path of a Unix socket; then host and port are not used
  std::string user;
  std::string password;
  std::string database;
  std::string schema;  // where the table is; as errors and the catalogue name it
  std::string table = "holdfast_locks";
  bool create = true;  // tables and procedures that are not there

  struct {
    bool on = false;
    std::string ca;    // a file of certificates to trust; empty: those of the system
    std::string cert;  // our own, for servers that ask for one
    std::string key;
    bool verify = true;
  } tls;

  [[nodiscard]] sql::naming names() const { return {schema, table, '`'}; }
};

}  // namespace holdfast::mariadb
