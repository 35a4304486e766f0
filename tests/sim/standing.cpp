#include "sim/standing.hpp"

namespace holdfast::sim {

namespace {

std::int64_t weight_of(const claim_state& c) {
  switch (c.how) {
    case mode::exclusive: return store::whole_room;
    case mode::shared: return 1;
    case mode::permits: return c.permits;
  }
  return store::whole_room;
}

}  // namespace

void append_standings(std::size_t name, const std::optional<lock_state>& told, std::int64_t now,
                      std::vector<standing>& all) {
  if (!told) return;
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
  for (const claim_state& c : told->holders) append(c, true);
  for (const claim_state& c : told->waiters) append(c, false);
}

}  // namespace holdfast::sim
