#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "runtime/password.hpp"
#include "stores/sql/link/link.hpp"
#include "stores/sql/protocol/call.hpp"

namespace holdfast::postgresql {

/// The address of a database, and the credentials.
struct settings {
  sql::link_settings link;
  std::map<std::string, std::string> connection;  // libpq's own parameters, by their names
  runtime::password password;                     // in place of one among them
  sql::naming names{"", "holdfast_locks", '"'};
  std::string owner;   // a further role whose routines and tables are trusted
  bool create = true;  // whether missing tables and routines are made
  bool renew = false;  // whether routines of the same revision are replaced by those of this version
  std::vector<std::string> lockers{};             // roles that get the right to lock
  std::vector<std::string> lookers{};             // roles that get the right to look
  duration idle_limit = std::chrono::minutes{1};  // how long an idle session continues to listen
  bool pooled = false;                            // through a pooler that keeps a session for one client
};

}  // namespace holdfast::postgresql
