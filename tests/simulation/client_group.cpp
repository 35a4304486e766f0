#include "simulation/client_group.hpp"

#include <chrono>

namespace holdfast::sim {

using namespace std::chrono_literals;

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
