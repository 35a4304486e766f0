// SPDX-License-Identifier: Apache-2.0
#include "simulation/client.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace holdfast::sim {

using namespace std::chrono_literals;

client::process::process(surroundings& around, client& of)
    : link{around.store.connect(of.at, of.way, around.reply_limit)},
      watched{*link, around.in, around.account},
      port{around, of.at, watched},
      leases{of.at, port, operations,
             [this, h = &of.at](const lease_core::lease_record_ptr& lease) {
               // As client_core::announce_loss.
               sets.lost(*lease);
               h->defer_callback([this, h, lease, actions = std::exchange(lease->on_lost, {})] {
                 for (const auto& each : actions) each.action(lease->reason);
                 if (lease->reason == errc::closed) return;
                 h->defer_callback([this, lease] { leases.after_loss(lease); });
               });
             }},
      sets{of.at, leases, operations} {}

client::client(surroundings& around, std::uint8_t number, clock boot, clock wall, duration latency,
               std::size_t users)
    : at{around.in, number, boot, wall},
      way{around.in, at, around.server, latency},
      around_{around},
      users_{users} {}

void client::start() {
  around_.in.note("starts", at.number());
  process_ = std::make_unique<process>(around_, *this);
  way.connect_soon();
  const bool campaigns = around_.elections != nullptr;
  for (std::size_t i = campaigns ? 1 : 0; i < users_; ++i) {
    process_->users.emplace_back(around_, at, process_->leases, process_->operations);
    at.turn([this] { process_->users.back().live(); });
  }
  if (campaigns) {
    process_->of_election.emplace(around_, at, process_->leases, process_->operations, process_->port, at);
    at.turn([this] { process_->of_election->live(); });
  }
  if (around_.requests != nullptr) start_requests();
  if (!around_.has_sets) return;
  process_->of_several.emplace(around_, at, process_->leases, process_->sets, process_->operations);
  at.turn([this] { process_->of_several->live(); });
}

void client::start_requests() {
  process& p = *process_;
  p.leases.on_release_requested([this, &p](const lease_core::lease_record_ptr& lease) {
    at.defer_callback([&p, lease] {
      for (user& u : p.users) u.requested(lease);
    });
  });
  p.asker.emplace(around_, at, p.port);
  at.turn([&p] { p.asker->live(); });
}

void client::kill() {
  if (!process_) return;
  around_.in.note("killed", at.number());
  at.die();
  process_.reset();
  way.hang_up();
}

void client::retire() {
  if (!process_) return;
  at.turn([this] {
    for (user& u : process_->users) u.retire();
    if (process_->of_several) process_->of_several->retire();
    if (process_->of_election) process_->of_election->retire();
    if (process_->asker) process_->asker->retire();
  });
}

void client::close() {
  if (!process_) return;
  at.turn([this] {
    if (process_->of_election) process_->of_election->close();
    process_->operations.close({errc::closed, "the client was closed"});
    process_->leases.close();
  });
}

void client::force_release(std::size_t name) {
  if (!process_ || at.is_paused()) return;
  at.turn([this, name] {
    process_->port.force_release(name_of(name), std::nullopt, at.now() + 1s, [](const store::forced&) {});
  });
}

bool client::waits_since_before() const {
  if (!process_) return false;
  const auto& several = process_->of_several;
  const auto& candidate = process_->of_election;
  return (several && several->waits_since_before()) || (candidate && candidate->waits_since_before()) ||
         std::any_of(process_->users.begin(), process_->users.end(),
                     [](const user& u) { return u.waits_since_before(); });
}

bool client::is_done() const {
  if (!process_) return true;
  const auto& several = process_->of_several;
  const auto& candidate = process_->of_election;
  return (!several || several->is_done()) && (!candidate || candidate->is_done()) &&
         std::all_of(process_->users.begin(), process_->users.end(),
                     [](const user& u) { return u.is_done(); });
}

std::size_t client::busy() const { return process_ ? process_->port.busy() : 0; }

}  // namespace holdfast::sim
