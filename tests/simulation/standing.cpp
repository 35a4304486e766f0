// SPDX-License-Identifier: Apache-2.0
#include "simulation/standing.hpp"

#include <cstddef>
#include <cstring>

namespace holdfast::sim {

namespace {

std::int64_t weight_of(const claim_state& c) {
  switch (c.mode) {
    case mode::exclusive: return store::full_capacity;
    case mode::shared: return 1;
    case mode::permits: return c.permits;
  }
  return store::full_capacity;
}

}  // namespace

owner_id drawn(randomness& chance) {
  owner_id::bytes_type bytes{};
  for (std::size_t half = 0; half < 2; ++half) {
    const std::uint64_t bits = chance.bits();
    std::memcpy(bytes.data() + half * sizeof bits, &bits, sizeof bits);
  }
  return owner_id{bytes};
}

void append_standings(std::size_t name, const std::optional<lock_state>& state, std::int64_t now,
                      std::vector<standing>& all) {
  if (!state) return;
  const auto append = [&](const claim_state& c, bool granted) {
    standing s;
    s.name = name;
    s.owner = owner_id::from_hex(c.owner).value_or(owner_id{});
    s.token = c.token.value();
    s.weight = weight_of(c);
    s.expires = now + c.expires_in.count();
    s.granted = granted;
    all.push_back(s);
  };
  for (const claim_state& c : state->holders) append(c, true);
  for (const claim_state& c : state->waiters) append(c, false);
}

}  // namespace holdfast::sim
