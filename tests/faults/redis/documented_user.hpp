// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace holdfast::faults {

/// The command for a user that a page tells operators to make.
/// \param page its name in docs/stores: redis.md for a user of the servers, redis-sentinel.md for one of the
/// Sentinels.
inline std::vector<std::string> documented_user(const std::string& page) {
  std::ifstream text{HOLDFAST_DOCS "/stores/" + page};
  for (std::string line; std::getline(text, line);) {
    std::istringstream words{line};
    std::vector<std::string> arguments{std::istream_iterator<std::string>{words}, {}};
    if (arguments.size() > 2 && arguments[0] == "ACL" && arguments[1] == "SETUSER") return arguments;
  }
  return {};
}

}  // namespace holdfast::faults
