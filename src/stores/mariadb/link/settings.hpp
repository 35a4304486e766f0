#pragma once

#include <cstdint>
#include <string>

#include "runtime/password.hpp"
#include "stores/sql/link/link.hpp"
#include "stores/sql/protocol/call.hpp"

namespace holdfast::mariadb {

/// The address of a database, and the credentials.
struct settings {
  sql::link_settings link;
  std::string host = "127.0.0.1";
  std::uint16_t port = 3306;
  std::string socket;  // the path of a Unix socket; then host and port are not used
  std::string user;
  runtime::password password;
  std::string database;
  std::string schema;  // the database of the table, as errors and the catalogue name it
  std::string table = "holdfast_locks";
  bool create = true;     // whether missing tables and procedures are made
  bool one_node = false;  // all clients use this one node of a Galera cluster

  struct {
    bool on = false;
    std::string ca;    // a file of trusted certificates; empty: those of the system
    std::string cert;  // the client's, for servers that ask for one
    std::string key;
    bool verify = true;
  } tls;

  [[nodiscard]] sql::naming names() const { return {schema, table, '`'}; }
};

}  // namespace holdfast::mariadb
