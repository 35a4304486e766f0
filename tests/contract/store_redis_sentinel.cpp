// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include "contract/redis_store.hpp"
#include "support/sentinel_group.hpp"

namespace {

using holdfast::contract::extent;
using holdfast::test::sentinel_group;
using store = holdfast::contract::redis_store<sentinel_group>;

// A server that stands still is not down for the Sentinels: failovers are for tests/faults.
sentinel_group& plain() {
  static sentinel_group shared{{.down_after = std::chrono::minutes{10}}};
  return shared;
}
sentinel_group& secure() {
  static sentinel_group shared{
      {.down_after = std::chrono::minutes{10}, .sentinel_password = "a-sentinel", .tls = true}};
  return shared;
}
std::string url(sentinel_group& group, const std::string& prefix) { return group.url('?' + prefix); }
std::vector<holdfast::test::redis_server*> primary(sentinel_group& group) { return {&group.server(0)}; }

// Its link is that of Redis, once it has found the primary.
const holdfast::contract::test_on sentinel{store::kind(
    {.name = "sentinel", .scheme = "redis+sentinel", .in_gate = extent::smoke}, {plain, url, primary})};
const holdfast::contract::test_on secure_sentinel{store::kind(
    {.name = "sentineltls", .scheme = "rediss+sentinel", .in_gate = extent::smoke}, {secure, url, primary})};

}  // namespace
