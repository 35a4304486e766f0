#pragma once

#include <map>
#include <string>

#include "link/sql/link.hpp"
#include "protocol/sql/call.hpp"

namespace holdfast::postgresql {

/// Where a database is, and how to get in.
struct settings {
  sql::link_settings link;
  std::map<std::string, std::string> connection;  // libpq's own parameters, by their names
  sql::naming names{"", "holdfast_locks", '"'};
  bool create = true;   // tables and routines that are not there
  bool pooled = false;  // through a pooler, which is known to leave a session to one client
};

}  // namespace holdfast::postgresql
