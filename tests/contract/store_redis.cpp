// SPDX-License-Identifier: Apache-2.0
#include "contract/redis_store.hpp"

namespace {

using holdfast::contract::extent;
using holdfast::test::redis_server;
using store = holdfast::contract::redis_store<redis_server>;

// One server for all tests of this process. One more for those over TLS: not every server that these tests
// run on can do that.
redis_server& plain() {
  static redis_server shared;
  return shared;
}
redis_server& secure() {
  static redis_server shared{{.tls = true}};
  return shared;
}
std::vector<redis_server*> itself(redis_server& at) { return {&at}; }

const holdfast::contract::test_on redis{store::kind(
    {.name = "redis", .scheme = "redis"},
    {plain, [](redis_server& at, const std::string& prefix) { return at.url('?' + prefix); }, itself})};
const holdfast::contract::test_on rediss{store::kind(
    {.name = "rediss", .scheme = "rediss", .in_gate = extent::smoke},
    {secure, [](redis_server& at, const std::string& prefix) { return at.tls_url('?' + prefix); }, itself})};
const holdfast::contract::test_on unix_socket{
    store::kind({.name = "unix", .scheme = "unix", .in_gate = extent::smoke},
                {plain,
                 [](redis_server& at, const std::string& prefix) {
                   return "unix:" + at.socket() + "?failover_guard=0&" + prefix;
                 },
                 itself})};

}  // namespace
