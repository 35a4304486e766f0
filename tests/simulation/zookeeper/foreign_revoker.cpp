// SPDX-License-Identifier: Apache-2.0
#include "simulation/zookeeper/foreign_revoker.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace holdfast::sim {

using namespace std::chrono_literals;

void foreign_revoker::live() {
  in_.after(chance_.between(10ms, 2s), [this] {
    if (is_retired_) return;
    revoke();
    live();
  });
}

void foreign_revoker::revoke() {
  const std::size_t name = chance_.below(locks);
  const std::vector<std::string> nodes = counts_.nodes_of_holders(name);
  if (nodes.empty()) return;
  const std::string& path = nodes[chance_.below(nodes.size())];
  in_.note("another's client revokes", name);
  static_cast<void>(servers_.propose({.kind = zookeeper::operation_kind::set,
                                      .path = path,
                                      .data = std::string{recipe_ledger::revoke_message}},
                                     0));
}

}  // namespace holdfast::sim
