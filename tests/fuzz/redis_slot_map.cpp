// SPDX-License-Identifier: Apache-2.0
// Any bytes as what a node of a Redis Cluster says of its slots: a map is read, or refused, and what is read
// fits together. Redirections change it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "stores/redis/protocol/cluster.hpp"
#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/replies.hpp"
#include "stores/redis/protocol/resp.hpp"
#include "stores/redis/protocol/server_address.hpp"

namespace {

using namespace holdfast;

void require(bool is_so) {
  if (!is_so) std::abort();
}

bool is_address(const redis::server_address& a) { return redis::is_host(a.host) && redis::is_port(a.port); }

void check(const redis::slot_map& map) {
  const auto primaries = map.primaries();
  for (const auto& each : primaries) {
    require(is_address(each));
    const auto last = map.last_slot_of(each);
    require(last && *map.primary_of(*last) == each);
    const auto before = map.last_slot_of(each, *last);
    require(!before || (*before < *last && *map.primary_of(*before) == each));
  }
  for (const auto& each : map.replicas()) require(is_address(each));
  for (unsigned slot = 0; slot < redis::slot_count; slot += 127) {
    const auto* const primary = map.primary_of(static_cast<std::uint16_t>(slot));
    require(primary == nullptr || std::find(primaries.begin(), primaries.end(), *primary) != primaries.end());
  }
  require(!map.differs_from(map));
}

void follow(const redis::redirection& to, redis::slot_map& map) {
  require(to.slot < redis::slot_count && redis::is_port(to.to.port));
  redis::server_address there = to.to;
  if (there.host.empty()) there.host = "asked";
  require(is_address(there));
  const redis::slot_map before = map;
  if (!map.move(to.slot, there)) {
    require(!before.differs_from(map));
    return;
  }
  require(*map.primary_of(to.slot) == there);
  const auto* const former = before.primary_of(to.slot);
  require(before.differs_from(map) == (former != nullptr && *former != there));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  redis::slot_map map;
  if (const auto to = redis::redirection_in(bytes)) follow(*to, map);
  redis::parser p;
  p.feed(bytes);
  try {
    while (const auto message = p.next()) {
      if (message->is(redis::value::kind::error)) {
        if (const auto to = redis::redirection_in(message->text)) follow(*to, map);
        continue;
      }
      try {
        map = redis::slot_map::read(*message, {"asked", "6379"});
      } catch (const redis::misunderstood&) {
      }
    }
  } catch (const redis::parser::garbage&) {
  }
  check(map);
  return 0;
}
