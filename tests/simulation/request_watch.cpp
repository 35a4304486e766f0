// SPDX-License-Identifier: Apache-2.0
#include "simulation/request_watch.hpp"

#include <algorithm>
#include <chrono>
#include <string>

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

constexpr duration between_looks = 100ms;
constexpr duration soon = 500ms;     // for the notification, and for an inspection, which has the reason
constexpr duration forgotten = 30s;  // no hold of a user lasts longer

}  // namespace

void request_watch::start() {
  around_.in.after(between_looks, [this] {
    if (is_stopped_) return;
    look();
    start();
  });
}

void request_watch::look() {
  if (since_.empty()) return;
  for (std::size_t name = 0; name < names; ++name) {
    for (const witness::belief& b : around_.sees.beliefs(name)) {
      const auto requested = since_.find(b.lease->hold.owner);
      if (requested == since_.end()) continue;
      if (b.lease->release_request) {
        around_.in.note("has heard of a request", b.at->number(), b.lease->hold.token.value());
        since_.erase(requested);
      } else if (is_due(b, requested->second)) {
        around_.in.violated("a holder has not heard that it is to release: " + name_of(name) + ", token " +
                            std::to_string(b.lease->hold.token.value()) + ", client " +
                            std::to_string(b.at->number()));
      }
    }
  }
  std::erase_if(since_, [&](const auto& each) { return each.second + forgotten < around_.in.now; });
}

/// A request that comes before the grant does is for the lease that begins with that.
bool request_watch::is_due(const witness::belief& b, instant since) const {
  if (!witness::is_held(b) || around_.account.is_ended_by_hand(b.lease->hold.owner)) return false;
  if (terms_.is_heard_by_renewal && (b.lowered || !b.lease->schedule.renews)) return false;
  const instant known = std::max(since, b.at->true_time_of(b.lease->granted_at));
  const duration until_heard = terms_.is_heard_by_renewal ? b.lease->ttl() / 3 + soon : soon;
  const instant calm = since - terms_.calm_before;
  return known + until_heard < around_.in.now && b.at->calm_since(calm) && around_.server.calm_since(calm);
}

}  // namespace holdfast::sim
