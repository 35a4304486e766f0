#pragma once

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace holdfast::faults {

/// The command for a user that docs/stores/redis.md tells operators to make. \param nth 1: of the servers;
/// 2: of the Sentinels.
inline std::vector<std::string> documented_user(int nth) {
  std::ifstream page{HOLDFAST_DOCS "/stores/redis.md"};
  for (std::string line; std::getline(page, line);) {
    std::istringstream text{line};
    std::vector<std::string> arguments{std::istream_iterator<std::string>{text}, {}};
    if (arguments.size() > 2 && arguments[0] == "ACL" && arguments[1] == "SETUSER" && --nth == 0)
      return arguments;
  }
  return {};
}

}  // namespace holdfast::faults
