// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "support/amount.hpp"

namespace holdfast::faults {

/// What no Redis server in its right mind says: other protocols, RESP3 that is cut short, lengths beyond all
/// bounds, types in the wrong place, noise.
inline std::vector<std::string> hostile_bytes() {
  std::string nested;
  for (int depth = 0; depth < 20'000; ++depth) nested += "*1\r\n";
  std::vector<std::string> all{"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
                               "SSH-2.0-OpenSSH_9.2p1\r\n",
                               "",
                               "\r\n",
                               "+OK\r\n",
                               ":1\r\n",
                               "$-1\r\n",
                               "*-1\r\n",
                               "_\r\n",
                               "$-2\r\n",
                               "$9223372036854775807\r\nx",
                               "$99999999999999999999999\r\nx",
                               "*9223372036854775807\r\n",
                               "*1000000000\r\n:1\r\n",
                               "%9223372036854775807\r\n",
                               "%1\r\n+a\r\n",
                               "-\r\n",
                               "-ERR unknown command 'HELLO'\r\n",
                               "-NOPROTO unsupported protocol version\r\n",
                               ">0\r\n",
                               ">3\r\n+message\r\n+x\r\n+y\r\n",
                               ">1\r\n>1\r\n>1\r\n",
                               "|1\r\n+k\r\n+v\r\n",
                               ":99999999999999999999999\r\n",
                               ",nan\r\n",
                               "#x\r\n",
                               "(1e5\r\n",
                               "=3\r\nx\r\n",
                               "!5\r\nERR x\r\n",
                               std::string(100'000, 'a'),
                               std::string(1'000, '\0'),
                               nested};
  std::mt19937 random{20261120};
  for (int each = 0; each < 10; ++each) {
    std::string bytes{"+-:$*_#,(!=%~>|.\r\n0123456789\xff"};
    for (int more = 0; more < 200; ++more) bytes += bytes[random() % 30];
    std::shuffle(bytes.begin(), bytes.end(), random);
    all.push_back(bytes);
  }
  return all;
}

/// Every third of them in scripts/test, and all in scripts/hunt.
inline std::vector<std::string> some_hostile_bytes() {
  std::vector<std::string> some;
  const auto all = hostile_bytes();
  for (std::size_t i = 0; i < all.size(); i += test::amount(3, 1)) some.push_back(all[i]);
  return some;
}

}  // namespace holdfast::faults
