// SPDX-License-Identifier: Apache-2.0
#include "simulation/client_group.hpp"

#include <algorithm>
#include <chrono>

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

/// And seen: an observer without notifications looks once a second.
constexpr duration elected_within = 2500ms;

}  // namespace

void client_group::gather(std::size_t count, const rates& of) {
  randomness& chance = around_.in.chance;
  for (std::size_t i = 0; i < count; ++i) {
    const auto boot = std::chrono::duration_cast<clock::reading>(chance.between(1h, 2h));
    const auto wall = 24h * 365 * 50 + chance.between(0ms, 4s) - duration{2s};
    clients_.emplace_back(around_, static_cast<std::uint8_t>(i + 1), clock{boot, of.clients.at(i)},
                          clock{wall, of.clients.at(i)}, chance.between(100us, 2ms), 1 + chance.below(3));
  }
}

void client_group::start() {
  for (client& c : clients_) c.start();
}

void client_group::retire() {
  for (client& c : clients_) c.retire();
}

bool client_group::get_served(duration reply_limit, duration last_round) {
  scene& in = around_.in;
  if (!in.run_until(in.now + reply_limit)) return false;
  for (const client& c : clients_) in.require(!c.waits_since_before(), "somebody waits for ever");
  around_.account.trust_again();
  if (!in.run_until(in.now + last_round)) return false;
  for (const client& c : clients_) in.require(c.is_done(), "a name cannot be locked without faults");
  return true;
}

bool client_group::end_election() {
  if (around_.elections == nullptr) return true;
  scene& in = around_.in;
  const auto first =
      std::find_if(clients_.begin(), clients_.end(), [](const client& c) { return c.lives(); });
  if (first == clients_.end()) return true;
  candidate_user& last = *first->of_election();
  first->at.turn([&] { last.lead_last(); });
  // An observer that has seen greater tokens shows an older leader once that has outlived its ttl.
  const bool went_back = around_.account.went_back_at(election_name) > instant::min();
  if (!in.run_until(in.now + elected_within + (went_back ? longest_ttl : duration{0}))) return false;
  in.require(last.leads(), "an election without faults has no leader");
  if (!require_observed(last.value())) return false;
  first->at.turn([&] { last.resign_last(); });
  return in.run_until(in.now + elected_within) && require_observed({});
}

/// \param value empty: nobody leads.
bool client_group::require_observed(const std::string& value) {
  for (client& c : clients_) {
    if (c.of_election() == nullptr) continue;
    const auto& seen = c.of_election()->observed();
    around_.in.require((seen ? seen->value : std::string{}) == value,
                       "an observer does not show the last state: '" + (seen ? seen->value : "nobody") +
                           "' instead of '" + value + "'");
  }
  return around_.in.violation.empty();
}

void client_group::close() {
  for (client& c : clients_) c.close();
}

void client_group::require_still(std::size_t timers) {
  scene& in = around_.in;
  for (const client& c : clients_) {
    in.require(c.busy() == 0, "a closed client is still at it");
    in.require(c.at.timers() <= timers, "a closed client would still wake up");
  }
}

}  // namespace holdfast::sim
