// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <limits>

#include "simulation/client_group.hpp"
#include "simulation/is_bent.hpp"
#include "simulation/rates.hpp"
#include "simulation/request_watch.hpp"
#include "simulation/world.hpp"
#include "simulation/zookeeper/ensemble_fault_injector.hpp"
#include "simulation/zookeeper/foreign_contender.hpp"
#include "simulation/zookeeper/foreign_revoker.hpp"
#include "simulation/zookeeper/zookeeper_store.hpp"

namespace holdfast::sim {

namespace {

using namespace std::chrono_literals;

constexpr duration time_of_faults = 60s;
/// Nobody is in the way any more but others who do the same.
constexpr duration last_round = 4s;
constexpr duration flush = 2s;

/// What the servers are like.
ensemble::settings settings_from(randomness& chance) {
  ensemble::settings some;
  some.servers = chance.one_in(4) ? 1 : 3;
  constexpr auto ticks = std::to_array<duration>({100ms, 200ms, 400ms});
  some.tick = ticks.at(chance.below(ticks.size()));
  if (chance.one_in(4)) {
    some.first_number =
        std::numeric_limits<std::int32_t>::max() - static_cast<std::int32_t>(chance.below(40));
  }
  return some;
}

duration timeout_from(randomness& chance) {
  constexpr auto timeouts = std::to_array<duration>({600ms, 1s, 2s, 4s});
  return timeouts.at(chance.below(timeouts.size()));
}

/// What the servers are like, how far the clocks differ, and what clients use them for.
struct conditions {
  explicit conditions(randomness& chance)
      : servers{settings_from(chance)},
        timeout{timeout_from(chance)},
        clocks{chance, servers.servers},
        root{chance.one_in(2) ? "" : "/apps"},
        layout{chance.one_in(8) ? zookeeper::layout::kazoo : zookeeper::layout::curator} {}

  // In the order of drawing.
  ensemble::settings servers;
  duration timeout;
  rates clocks;
  std::string root;
  zookeeper::layout layout;
};

class ensemble_world {
 public:
  ensemble_world(std::uint64_t seed, const circumstances& under)
      : in_{seed, under.prints},
        of_{in_.chance},
        calm_{in_, clock{1h}, clock{1h}},
        servers_{in_, of_.servers, of_.clocks.servers},
        counts_{in_, calm_, servers_, of_.root, of_.layout},
        sees_{in_, counts_},
        elections_{in_, counts_},
        store_{in_, servers_, counts_, {{of_.root, of_.layout, of_.timeout}, of_.timeout, under.with}},
        around_{in_, calm_, counts_, sees_, store_, under.with, {}, 0, true, names, false, false},
        clients_{around_},
        fault_injector_{around_, servers_, clients_.all(), instant{time_of_faults}},
        requests_{seed},
        hears_{around_, {.calm_before = fair_time_to_renew(), .is_heard_by_renewal = true}},
        revoker_{in_, requests_.chance, servers_, counts_} {
    counts_.compare_with(sees_);
    sees_.expect_renewal_within(fair_time_to_renew());
    bent_with() = under.with;
    around_.has_sets = seed % 4 == 3;
    if (has_election(seed, under)) around_.elections = &elections_;
    if (has_requests(seed, under) && !has_election(seed, under)) request_releases();
    clients_.gather(2 + in_.chance.below(3), of_.clocks);
    if (of_.layout != zookeeper::layout::curator) return;
    for (std::size_t i = in_.chance.below(3); i > 0; --i)
      others_.emplace_back(in_, servers_, counts_, of_.layout);
  }

  outcome live() {
    pass_time();
    return outcome{around_};
  }

 private:
  [[nodiscard]] duration fair_time_to_renew() const { return std::max<duration>(of_.timeout, 1500ms); }
  void request_releases() {
    around_.requests = &requests_;
    counts_.on_release_request = [this](const owner_id& owner) {
      requests_.owners.insert(owner);
      hears_.is_knowable(owner);
    };
    hears_.start();
    // A mutant is not to be taken for the revoker. At the end of the numbers a former writer's data tells its
    // place, and for a moment the revoker hides that.
    const bool is_curators = of_.layout == zookeeper::layout::curator && of_.servers.first_number == 0;
    if (is_curators && around_.with == mutant::none) revoker_.live();
  }
  /// A session that has died, and what its leader's clock adds to it, finding a server, and one more try.
  [[nodiscard]] duration served_within() const {
    return of_.timeout + of_.timeout / 100 + 3 * of_.servers.tick + 1200ms + 1s + 600ms + longest_ttl;
  }
  void pass_time() {
    clients_.start();
    for (foreign_contender& f : others_) f.live();
    if (!fault_injector_.pass()) return;
    // Until each client has heard of its session again, what it is granted it may not believe.
    if (!in_.run_until(in_.now + 2 * of_.timeout)) return;
    clients_.retire();
    revoker_.retire();
    for (foreign_contender& f : others_) f.retire();
    if (!clients_.get_served(served_within(), last_round)) return;
    if (!clients_.end_election()) return;
    hears_.stop();
    clients_.close();
    if (in_.run_until(in_.now + flush)) require_nothing_left();
  }
  void require_nothing_left() {
    clients_.require_still(1);  // its session beats
    in_.require(counts_.leftover().empty(),
                "a node is left after everybody has closed: " + counts_.leftover());
    in_.require(servers_.watches() == 0, "watches are left after everybody has closed");
  }

  scene in_;
  conditions of_;
  site calm_;  // not, while something is wrong with the servers
  ensemble servers_;
  recipe_ledger counts_;
  witness sees_;
  election_watch elections_;
  zookeeper_store store_;
  surroundings around_;
  client_group clients_;
  std::deque<foreign_contender> others_;
  ensemble_fault_injector fault_injector_;
  release_requests requests_;
  request_watch hears_;
  foreign_revoker revoker_;
};

}  // namespace

outcome run_on_ensemble(std::uint64_t seed, const circumstances& under) {
  return ensemble_world{seed, under}.live();
}

}  // namespace holdfast::sim
