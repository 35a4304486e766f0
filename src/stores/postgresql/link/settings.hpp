#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "stores/sql/link/link.hpp"
#include "stores/sql/protocol/call.hpp"

namespace holdfast::postgresql {

/// Where a database is, and how to get in.
struct settings {
  sql::link_settings link;
  std::map<std::string, std::string> connection;  // libpq's own parameters, by their names
  sql::naming names{"", "holdfast_locks", '"'};
  std::string owner;   // a role whose routines and tables are trusted, besides those that always are
  bool create = true;  // tables and routines that are not there
  bool renew = false;  // routines of this very text, where they are of this revision
  std::vector<std::string> lockers{};  // roles that get the right to lock
  std::vector<std::string> lookers{};  // and to look
  duration idle_limit =
      std::chrono::minutes{1};  // for how long an idle session goes on to hear what is notified
  bool pooled = false;          // through a pooler, which is known to leave a session to one client
};

}  // namespace holdfast::postgresql
