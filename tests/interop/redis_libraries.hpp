#pragma once

#include <string>

#include "support/actor.hpp"
#include "support/redis_server.hpp"

namespace holdfast::interop {

/// A process with another library's lock on a server; it takes the lines that stand at the top of its source,
/// in this folder.
class client_process : public test::actor {
 public:
  client_process(const std::vector<std::string>& command, const test::redis_server& server)
      : actor{command, {std::string{"NODE_PATH="} + HOLDFAST_NODE_MODULES}} {
    EXPECT_EQ(ask("open " + server.socket()), "open") << "scripts/setup installs what it needs";
  }
};

class redis_py : public client_process {
 public:
  explicit redis_py(const test::redis_server& server)
      // Debian's own, because it has Debian's python3-redis; -B: no litter among the sources.
      : client_process{{"/usr/bin/python3", "-B", std::string{HOLDFAST_LIBRARIES_FOLDER} + "/redis_py.py"},
                       server} {}
};

class redlock : public client_process {
 public:
  explicit redlock(const test::redis_server& server)
      : client_process{{"node", std::string{HOLDFAST_LIBRARIES_FOLDER} + "/redlock.js"}, server} {}
};

}  // namespace holdfast::interop
