// SPDX-License-Identifier: Apache-2.0
#include "simulation/quorum/spread_watch.hpp"

#include <algorithm>
#include <chrono>
#include <string>

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

constexpr duration between_looks = 300ms;
constexpr duration enough = 400ms;  // for the answer, and one more request

}  // namespace

void spread_watch::start() {
  around_.in.after(between_looks, [this] {
    if (is_stopped_) return;
    look();
    start();
  });
}

void spread_watch::look() {
  for (std::size_t name = 0; name < around_.names_used; ++name) {
    for (const witness::belief& b : around_.sees.beliefs(name)) {
      if (!witness::is_held(b) || around_.account.is_ended_by_hand(b.lease->hold.owner)) continue;
      for (std::size_t i = 0; i < store_.nodes().size(); ++i) {
        if (!is_due(b, i)) continue;
        quorum_store::node& at = store_.nodes()[i];
        const auto there = at.server.claims();
        const bool stands = std::any_of(there.begin(), there.end(), [&](const standing& s) {
          return s.owner == b.lease->hold.owner && s.expires > at.at.lease_now();
        });
        if (!stands)
          around_.in.violated("a hold is missing at server " + std::to_string(i) + ": " + name_of(name));
      }
    }
  }
}

/// It was renewed a while ago, and neither that server nor the way to it was disturbed since.
bool spread_watch::is_due(const witness::belief& b, std::size_t server) const {
  const auto sent = b.lease->deadline() - b.lease->ttl() + b.lease->margin;
  const instant renewed = b.at->true_time_of(sent);
  if (renewed <= b.requested + 1ms || renewed + enough > around_.in.now) return false;
  const instant since = renewed - 50ms;
  return b.at->calm_since(since, server + 1) && store_.nodes()[server].at.calm_since(since);
}

}  // namespace holdfast::sim
