// SPDX-License-Identifier: Apache-2.0
#include <cstddef>

#include "contract/redis_store.hpp"
#include "support/redis_quorum.hpp"

namespace {

using holdfast::contract::extent;
using holdfast::contract::store_kind;
using holdfast::test::redis_quorum;
using store = holdfast::contract::redis_store<redis_quorum>;

redis_quorum& plain() {
  static redis_quorum shared;
  return shared;
}
redis_quorum& secure() {
  static redis_quorum shared{{.password = "a-quorum", .tls = true}};
  return shared;
}
// A busy machine keeps servers from their work for longer than the default.
std::string url(redis_quorum& servers, const std::string& prefix) {
  return servers.url("?node_timeout=20s&" + prefix);
}
std::vector<holdfast::test::redis_server*> all_of(redis_quorum& servers) {
  std::vector<holdfast::test::redis_server*> all;
  for (std::size_t i = 0; i < servers.size(); ++i) all.push_back(&servers.server(i));
  return all;
}
store_kind with_majority(const std::string& scheme, extent in_gate) {
  return {.name = scheme, .scheme = scheme, .has_permits = false, .by_majority = true, .in_gate = in_gate};
}

const holdfast::contract::test_on redlock{
    store::kind(with_majority("redlock", extent::blocking), {plain, url, all_of})};
const holdfast::contract::test_on redlocks{
    store::kind(with_majority("redlocks", extent::smoke), {secure, url, all_of})};

}  // namespace
