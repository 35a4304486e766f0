// SPDX-License-Identifier: Apache-2.0
#include "simulation/quorum/quorum_foreign_client.hpp"

#include <chrono>

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

constexpr duration answer_limit = 150ms;  // after that it decides by what it has heard
constexpr duration longest_pause = 200ms;

}  // namespace

quorum_foreign_client::quorum_foreign_client(surroundings& around, quorum_store& store, std::uint8_t number,
                                             clock boot)
    : at{around.in, number, boot, boot}, around_{around}, store_{store} {
  for (quorum_store::node& each : store.nodes())
    ways_.emplace_back(around.in, at, each.at, around.in.chance.between(100us, 2ms), ways_.size() + 1);
}

void quorum_foreign_client::start() {
  for (line& each : ways_) each.connect_soon();
  rest(1s);
}

void quorum_foreign_client::rest(duration most) {
  after(around_.in.chance.between(1ms, most), [this] { begin(); });
}

void quorum_foreign_client::begin() {
  around_.sees.outsider_ends(at);
  if (retired_) return;
  randomness& chance = around_.in.chance;
  if (tries_ == 0) {
    tries_ = 1 + chance.below(20);
    name_ = chance.below(around_.names_used);
    ttl_ = chance.one_in(4) ? 3000ms : foreign_commands::milliseconds{300 + chance.below(700)};
  }
  --tries_;
  value_ = drawn(chance).hex();
  sent_ = at.now();
  heard_ = set_ = 0;
  is_deciding_ = true;
  ++attempt_;
  for (std::size_t i = 0; i < ways_.size(); ++i) ask(i);
  after(answer_limit, [this, attempt = attempt_] {
    if (attempt == attempt_ && is_deciding_) decide();
  });
  stumble();
}

void quorum_foreign_client::ask(std::size_t server) {
  line& way = ways_[server];
  way.to_server([this, &way, server, c = way.connection(), attempt = attempt_, name = name_, value = value_,
                 ttl = ttl_] {
    const bool yes = store_.nodes()[server]
                         .server.commands_for_foreign_clients()
                         ->set_if_absent(name, value, ttl)
                         .value_or(false);
    way.to_client(c, [this, attempt, yes] { answered(attempt, yes); });
  });
}

void quorum_foreign_client::answered(std::uint32_t attempt, bool yes) {
  if (attempt != attempt_ || !is_deciding_) return;
  if (yes) ++set_;
  if (++heard_ == ways_.size()) decide();
}

void quorum_foreign_client::decide() {
  is_deciding_ = false;
  around_.in.note("foreign", at.number(), name_, set_);
  if (set_ > ways_.size() / 2 && at.now() < end_of_hold()) {
    around_.sees.outsider_holds(at, name_, end_of_hold(), sent_);
    return hold();
  }
  release();
  rest(tries_ == 0 ? duration{500ms} : longest_pause);
}

void quorum_foreign_client::hold() {
  tries_ = 0;
  after(around_.in.chance.between(0ms, 400ms), [this] {
    // From the moment in which it gives the lock back, or is gone, it does nothing under it.
    around_.sees.outsider_ends(at);
    if (around_.in.chance.one_in(8)) return rest(2s);
    release();
    rest(500ms);
  });
}

void quorum_foreign_client::release() {
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    ways_[i].to_server([this, i, name = name_, value = value_] {
      (void)store_.nodes()[i].server.commands_for_foreign_clients()->delete_if_same(name, value);
    });
  }
}

/// The worst moment for that: something is on its way.
void quorum_foreign_client::stumble() {
  randomness& chance = around_.in.chance;
  if (retired_) return;
  if (chance.one_in(40)) {
    ways_[chance.below(ways_.size())].cut();
  } else if (chance.one_in(40)) {
    at.pause(false);
    around_.in.after(chance.between(1ms, 2s), [this] { at.resume(); });
  }
}

/// As Redlock reckons its drift.
store::time_point quorum_foreign_client::end_of_hold() const {
  const duration ttl = ttl_;
  return sent_ + ttl - ttl / 50 - 4ms;
}

}  // namespace holdfast::sim
