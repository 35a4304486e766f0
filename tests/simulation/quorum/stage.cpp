// SPDX-License-Identifier: Apache-2.0
#include "simulation/quorum/stage.hpp"

#include <chrono>
#include <utility>

#include "holdfast/options.hpp"

namespace holdfast::sim {

using namespace std::chrono_literals;

actor::actor(surroundings& around, std::uint8_t number)
    : at{around.in, number, clock{1h}, clock{1h}},
      way{around.in, at, around.server, 1ms},
      around_{around},
      link_{around.store.connect(at, way, around.reply_limit)},
      driver_{at, *link_},
      leases_{std::make_unique<lease_core::lease_manager>(
          at, driver_, operations_, [this](const lease_core::lease_record_ptr& lease) {
            at.defer_callback([this, lease] { leases_->after_loss(lease); });
          })} {}

actor::~actor() = default;

void actor::lock(duration ttl, bool wait, bool renews) {
  store::claim w = claim_for(ttl);
  w.wait = wait;
  if (!wait) w.retry.limit(0s);
  w.renews = renews;
  ask(std::move(w));
}

void actor::stand(duration ttl) {
  store::claim w = claim_for(ttl);
  w.election = true;
  ask(std::move(w));
}

store::claim actor::claim_for(duration ttl) {
  store::claim w;
  w.name = name_of(0);
  w.owner = owner_ = drawn(around_.in.chance);
  w.ttl = ttl;
  w.shareable = true;
  w.wait = true;
  w.metadata = std::make_shared<const std::string>("{}");
  w.margin = lock_options{}.ttl(ttl).drift_margin();
  w.renews = true;
  return w;
}

void actor::ask(store::claim wanted) {
  is_answered_ = false;
  lease_ = nullptr;
  at.turn([&] {
    leases_->acquire(std::make_shared<const store::claim>(std::move(wanted)), std::nullopt,
                     [this](lease_core::taken t) {
                       is_answered_ = true;
                       if (auto* const lease = std::get_if<lease_core::lease_record_ptr>(&t)) {
                         lease_ = *lease;
                         around_.sees.granted(at, lease_);
                         grant_ = around_.account.grant_of(lease_->hold);
                       }
                     });
  });
}

void actor::release() {
  at.turn([this] { leases_->release(lease_, [](std::error_code) {}); });
}

stage::stage(const circumstances& under, duration silence, std::size_t servers)
    : in{1, under.prints},
      calm{in, clock{1h}, clock{1h}},
      counts{in, calm, servers_of_a_client,
             [this](std::size_t name, const owner_id& owner) { return store.count_of_grants(name, owner); }},
      sees{in, counts},
      store{in, counts, silence, under.with},
      around{in, calm, counts, sees, store, under.with, 10s, 0, false, locks} {
  for (std::size_t i = 0; i < servers; ++i) store.add_node(clock{24h * 365 * 50});
  store.heal();
  run(store.guard() + 2s);  // they have just started
}

actor& stage::enter() {
  actor& one = actors_.emplace_back(around, static_cast<std::uint8_t>(actors_.size() + 1));
  run(1s);  // until it is connected
  return one;
}

actor& stage::enter(std::vector<std::size_t> servers) {
  store.name_servers(static_cast<std::uint8_t>(actors_.size() + 1), std::move(servers));
  return enter();
}

void stage::restart(std::size_t index, bool forgets) {
  store.crash(index);
  if (forgets) {
    server(index).server.forget();
    counts.forgot_all_at(index);
  }
  server(index).at.come_up();
  run(400ms);  // until all are connected again
}

}  // namespace holdfast::sim
