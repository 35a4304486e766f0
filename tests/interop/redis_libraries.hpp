// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/actor.hpp"
#include "support/redis_quorum.hpp"
#include "support/redis_server.hpp"

namespace holdfast::interop {

/// Where a process connects to.
inline std::vector<std::string> sockets_of(const test::redis_server& server) { return {server.socket()}; }
/// Of the first `count` servers, or of all.
inline std::vector<std::string> sockets_of(test::redis_quorum& quorum, std::size_t count = SIZE_MAX) {
  std::vector<std::string> sockets;
  for (std::size_t i = 0; i < std::min(count, quorum.size()); ++i)
    sockets.push_back(quorum.server(i).socket());
  return sockets;
}

/// A process with another library's lock on servers; it takes the lines that stand at the top of its source,
/// in this folder.
class client_process : public test::actor {
 public:
  client_process(const std::vector<std::string>& command, const std::vector<std::string>& sockets)
      : actor{command,
              {std::string{"NODE_PATH="} + HOLDFAST_NODE_MODULES,
               std::string{"PYTHONPATH="} + HOLDFAST_PYTHON_MODULES}} {
    std::string open = "open";
    for (const auto& each : sockets) open += ' ' + each;
    EXPECT_EQ(ask(open), "open") << "scripts/setup installs what it needs";
  }
};

class redis_py : public client_process {
 public:
  explicit redis_py(const test::redis_server& server)
      // Debian's own, because it has Debian's python3-redis; -B: no litter among the sources.
      : client_process{{"/usr/bin/python3", "-B", std::string{HOLDFAST_LIBRARIES_FOLDER} + "/redis_py.py"},
                       sockets_of(server)} {}
  static bool is_there() { return true; }
};

class redlock : public client_process {
 public:
  explicit redlock(const test::redis_server& server) : redlock{sockets_of(server)} {}
  explicit redlock(const std::vector<std::string>& sockets)
      : client_process{{"node", std::string{HOLDFAST_LIBRARIES_FOLDER} + "/redlock.js"}, sockets} {}
  static bool is_there() { return true; }
};

class pottery : public client_process {
 public:
  explicit pottery(const std::vector<std::string>& sockets)
      : client_process{
            {"/usr/bin/python3", "-B", std::string{HOLDFAST_LIBRARIES_FOLDER} + "/pottery_actor.py"},
            sockets} {}
  static bool is_there() { return true; }
};

class redsync : public client_process {
 public:
  explicit redsync(const std::vector<std::string>& sockets)
      : client_process{{HOLDFAST_REDSYNC_ACTOR}, sockets} {}
  /// It needs a newer Go than Debian's. With that and its sources the build fails where it cannot be
  /// compiled.
  static bool is_there() { return !std::string{HOLDFAST_REDSYNC_ACTOR}.empty(); }
  static constexpr std::string_view is_missing =
      "redsync is not there; scripts/setup fetches it where there is Go";
};

}  // namespace holdfast::interop
