#include "simulation/quorum/quorum_world.hpp"

#include <chrono>

#include "simulation/client_group.hpp"
#include "simulation/quorum/quorum_fault_injector.hpp"
#include "simulation/quorum/quorum_store.hpp"
#include "simulation/rates.hpp"

namespace holdfast::sim {

namespace {

using namespace std::chrono_literals;

constexpr duration time_of_faults = 60s;
/// The dead may be in the way for two ttls, since a grant begins a new one.
constexpr duration served_within = 2 * longest_ttl + longest_ttl / 50 + 3s;
/// Nobody is in the way any more but others who do the same.
constexpr duration last_round = 5s;
constexpr duration flush = 2s;

/// Clocks of servers are off by less than a second at any time, also where they run fast or slow.
clock wall_clock(randomness& chance, std::int64_t rate_ppm) {
  constexpr duration half = 35s;
  const duration off = rate_ppm == 0 ? chance.between(0ms, 900ms) : chance.between(0ms, 200ms);
  return clock{24h * 365 * 50 + off - half * rate_ppm / 1'000'000, rate_ppm};
}

class quorum_world {
 public:
  quorum_world(std::uint64_t seed, const circumstances& under)
      : in_{seed, under.prints},
        servers_{in_.chance.one_in(3) ? std::size_t{5} : std::size_t{3}},
        rates_{in_.chance, servers_},
        calm_{in_, clock{1h}, clock{1h}},
        counts_{
            in_, calm_, servers_,
            [this](std::size_t name, const owner_id& owner) { return store_.count_of_grants(name, owner); }},
        sees_{in_, counts_},
        store_{in_, counts_, in_.chance.between(300ms, 2s), under.with},
        around_{in_, calm_, counts_, sees_, store_, under.with, in_.chance.between(300ms, 8s),
                0,   false, locks},
        clients_{around_},
        fault_injector_{around_, add_nodes(), counts_, clients_.all(), instant{time_of_faults}} {
    clients_.gather(2 + in_.chance.below(3), rates_);
  }

  outcome live() {
    pass_time();
    return outcome{around_};
  }

 private:
  quorum_store& add_nodes() {
    for (const std::int64_t rate : rates_.servers) store_.add_node(wall_clock(in_.chance, rate));
    return store_;
  }
  void pass_time() {
    clients_.start();
    if (!fault_injector_.pass()) return;
    clients_.retire();
    if (!clients_.get_served(served_within + store_.guard(), last_round)) return;
    clients_.close();
    if (in_.run_until(in_.now + flush)) require_nothing_left();
  }
  void require_nothing_left() {
    clients_.require_still(0);
    for (quorum_store::node& each : store_.nodes()) {
      for (const standing& s : each.server.claims())
        in_.require(false, "a claim is left after everybody has closed: " + s.owner.hex());
    }
    in_.require(store_.damage().empty(), store_.damage());
  }

  scene in_;
  std::size_t servers_;
  rates rates_;
  site calm_;  // not, while something is wrong with a server
  quorum_ledger counts_;
  witness sees_;
  quorum_store store_;
  surroundings around_;
  client_group clients_;
  quorum_fault_injector fault_injector_;
};

}  // namespace

outcome run_on_quorum(std::uint64_t seed, const circumstances& under) {
  return quorum_world{seed, under}.live();
}

}  // namespace holdfast::sim
