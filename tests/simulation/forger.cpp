// SPDX-License-Identifier: Apache-2.0
#include "simulation/forger.hpp"

#include <array>
#include <chrono>

namespace holdfast::sim {

using namespace std::chrono_literals;

void forger::next() {
  const duration pause = around_.in.chance.between(1ms, 500ms);
  if (around_.in.now + pause >= until_) return;
  around_.in.after(pause, [this] {
    forge();
    next();
  });
}

void forger::forge() {
  using kind = store::notification_kind;
  constexpr auto all = std::to_array<kind>({kind::granted, kind::granted, kind::revoked, kind::look});
  const standing* const claim = around_.account.any_claim(around_.in.chance);
  if (claim == nullptr) return;
  kind forged = all.at(around_.in.chance.below(all.size()));
  if (around_.requests != nullptr && around_.requests->chance.one_in(3)) forged = kind::release_requested;
  around_.in.note("forged", static_cast<std::uint64_t>(forged), claim->name, claim->token);
  around_.store.notify_all({claim->owner, forged, fencing_token{claim->token}});
}

}  // namespace holdfast::sim
