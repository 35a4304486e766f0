// SPDX-License-Identifier: Apache-2.0
#include "simulation/world.hpp"

#include <chrono>
#include <deque>

#include "simulation/client_group.hpp"
#include "simulation/foreign_client.hpp"
#include "simulation/forger.hpp"
#include "simulation/is_bent.hpp"
#include "simulation/rates.hpp"

namespace holdfast::sim {

namespace {

using namespace std::chrono_literals;

constexpr duration time_of_faults = 60s;
/// A ttl, what the clocks' rates add to it, and one more look or try, whichever is longer; and the
/// connection has to be there again first.
constexpr duration served_within = longest_ttl + longest_ttl / 100 + 1s + 1s + 600ms;
/// Nobody is in the way any more but others who do the same.
constexpr duration last_round = 3s;
constexpr duration flush = 1s;

class world {
 public:
  world(simulated_store& store, std::uint64_t seed, const circumstances& under)
      : in_{seed, under.prints},
        rates_{in_.chance, 1},
        server_{in_, clock{1h, rates_.servers.front()}, clock{24h * 365 * 50, rates_.servers.front()}},
        account_{in_, server_, store.terms(), [&store] { return store.claims(); }},
        sees_{in_, account_},
        elections_{in_, account_},
        requests_{seed},
        around_{in_, server_, account_, sees_, store, under.with, in_.chance.between(300ms, 8s), 0},
        clients_{around_},
        forger_{around_, instant{time_of_faults}},
        fault_injector_{around_, clients_.all(), instant{time_of_faults}, under.only} {
    bent_with() = under.with;
    around_.has_sets = seed % 4 == 3 && under.only.empty();
    if (has_election(seed, under)) around_.elections = &elections_;
    if (has_requests(seed, under)) {
      around_.requests = &requests_;
      account_.on_release_request = [this](const owner_id& owner) { requests_.owners.insert(owner); };
    }
    store.begin(in_, server_, account_);
    clients_.gather(3 + in_.chance.below(3), rates_);
    forges_ = under.has_false_notifications && under.only.empty() && in_.chance.one_in(3);
    foreign_commands* const commands = store.commands_for_foreign_clients();
    if (commands == nullptr || !under.only.empty()) return;
    constexpr std::uint8_t first_number = 101;
    for (std::size_t i = in_.chance.below(3); i > 0; --i) {
      const auto boot = std::chrono::duration_cast<clock::reading>(in_.chance.between(1h, 2h));
      foreign_clients_.emplace_back(around_, *commands, static_cast<std::uint8_t>(first_number + i),
                                    clock{boot, rates_.clients.at(i)}, in_.chance.between(100us, 2ms));
    }
  }

  outcome live() {
    pass_time();
    return outcome{around_};
  }

 private:
  void pass_time() {
    clients_.start();
    if (forges_) forger_.start();
    for (foreign_client& f : foreign_clients_) f.start();
    if (!fault_injector_.pass()) return;
    clients_.retire();
    for (foreign_client& f : foreign_clients_) f.retire();
    if (!clients_.get_served(served_within + account_.longer() + around_.store.guard(), last_round)) return;
    if (!clients_.end_election()) return;
    clients_.close();
    if (in_.run_until(in_.now + flush)) require_nothing_left();
  }
  void require_nothing_left() {
    clients_.require_still(0);
    const auto there = around_.store.claims();
    account_.compare(there);
    in_.require(account_.living() == 0, "claims are left after everybody has closed");
    in_.require(around_.store.damage().empty(), around_.store.damage());
  }

  scene in_;
  rates rates_;
  site server_;
  ledger account_;
  witness sees_;
  election_watch elections_;
  release_requests requests_;
  surroundings around_;
  client_group clients_;
  forger forger_;
  bool forges_ = false;
  std::deque<foreign_client> foreign_clients_;
  server_fault_injector fault_injector_;
};

}  // namespace

outcome run(simulated_store& store, std::uint64_t seed, const circumstances& under) {
  return world{store, seed, under}.live();
}

}  // namespace holdfast::sim
