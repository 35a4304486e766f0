// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <deque>
#include <optional>
#include <string>

#include "simulation/client_group.hpp"
#include "simulation/forger.hpp"
#include "simulation/quorum/quorum_fault_injector.hpp"
#include "simulation/quorum/quorum_foreign_client.hpp"
#include "simulation/quorum/quorum_store.hpp"
#include "simulation/quorum/spread_watch.hpp"
#include "simulation/rates.hpp"
#include "simulation/request_watch.hpp"
#include "simulation/world.hpp"

namespace holdfast::sim {

namespace {

using namespace std::chrono_literals;

constexpr duration time_of_faults = 60s;
/// The dead may be in the way for two ttls, since a grant begins a new one.
constexpr duration served_within = 2 * longest_ttl + longest_ttl / 50 + 3s;
/// Nobody is in the way any more but others who do the same.
constexpr duration last_round = 5s;
constexpr duration all_back = 4s;
constexpr duration flush = 2s;
/// After so long without an answer a server counts as silent.
constexpr duration longest_silence = 2s;

/// Clocks of servers are off by less than a second at any time, also where they run fast or slow. Where a
/// condition of the store is broken on purpose, it is one alone.
clock wall_clock(randomness& chance, std::int64_t rate_ppm, const circumstances& under) {
  constexpr duration half = 35s;
  const duration most = under.breaks_conditions ? 10ms : rate_ppm == 0 ? 900ms : 200ms;
  const duration off = chance.between(0ms, most);
  return clock{24h * 365 * 50 + off - half * rate_ppm / 1'000'000, rate_ppm};
}

/// While everybody has to be served, a minority of the servers is of no use in some worlds.
enum class last_minority : std::uint8_t { works, is_down, is_foreign };

class quorum_world {
 public:
  quorum_world(std::uint64_t seed, const circumstances& under)
      : in_{seed, under.prints},
        under_{under},
        servers_{in_.chance.one_in(3) ? std::size_t{5} : std::size_t{3}},
        rates_{in_.chance, servers_},
        calm_{in_, clock{1h}, clock{1h}},
        counts_{
            in_, calm_, servers_,
            [this](std::size_t name, const owner_id& owner) { return store_.count_of_grants(name, owner); }},
        sees_{in_, counts_},
        elections_{in_, counts_},
        store_{in_, counts_, in_.chance.between(300ms, longest_silence), under.with},
        around_{in_, calm_, counts_, sees_, store_, under.with, in_.chance.between(300ms, 8s),
                0,   false, locks},
        clients_{around_},
        forger_{around_, instant{time_of_faults}},
        fault_injector_{around_,          add_nodes(), counts_, clients_.all(), instant{time_of_faults},
                        powers_of(under), under.only},
        requests_{seed},
        hears_{around_, {.calm_before = longest_silence + 500ms}},
        spread_{around_, store_} {
    around_.has_sets = seed % 4 == 3 && under.only.empty();
    if (has_election(seed, under)) around_.elections = &elections_;
    if (has_requests(seed, under)) request_releases();
    clients_.gather(2 + in_.chance.below(3), rates_);
    forges_ = under.has_false_notifications && under.only.empty() && in_.chance.one_in(3);
    if (!under.only.empty()) return;
    last_ = static_cast<last_minority>(in_.chance.below(3));
    constexpr std::uint8_t first_number = 101;
    const std::size_t foreign = in_.chance.one_in(2) ? in_.chance.below(3) : 0;
    for (std::size_t i = 0; i < foreign; ++i) {
      const auto boot = std::chrono::duration_cast<clock::reading>(in_.chance.between(1h, 2h));
      foreign_clients_.emplace_back(around_, store_, static_cast<std::uint8_t>(first_number + i),
                                    clock{boot, rates_.clients.at(i)});
    }
  }

  outcome live() {
    pass_time();
    return outcome{around_};
  }

 private:
  static quorum_fault_injector::powers powers_of(const circumstances& under) {
    const bool is_majority = !under.only.empty();
    return {is_majority, under.breaks_conditions, under.breaks_conditions};
  }
  quorum_store& add_nodes() {
    if (in_.chance.one_in(3)) store_.coarsen_clocks(in_.chance.between(1ms, 16ms));
    if (under_.breaks_conditions) store_.switch_guard_off();
    for (const std::int64_t rate : rates_.servers)
      store_.add_node(wall_clock(in_.chance, under_.breaks_conditions ? 0 : rate, under_));
    return store_;
  }
  void request_releases() {
    around_.requests = &requests_;
    counts_.on_release_request = [this](const owner_id& owner) { requests_.owners.insert(owner); };
    store_.on_delivery = [this](const store::notification& n) {
      const bool requests = n.kind == store::notification_kind::release_requested;
      if (requests && requests_.owners.contains(n.owner)) hears_.is_knowable(n.owner);
    };
    if (around_.elections == nullptr) hears_.start();  // a value that is proclaimed replaces the request
  }
  void pass_time() {
    clients_.start();
    if (forges_) forger_.start();
    for (quorum_foreign_client& f : foreign_clients_) f.start();
    if (!forges_ && under_.only.empty()) spread_.start();
    if (!fault_injector_.pass()) return;
    for (quorum_foreign_client& f : foreign_clients_) f.retire();
    begin_last();
    clients_.retire();
    if (!clients_.get_served(served_within + store_.guard(), last_round)) return;
    if (!clients_.end_election()) return;
    end_last();
    if (!in_.run_until(in_.now + all_back)) return;
    spread_.stop();
    hears_.stop();
    clients_.close();
    if (in_.run_until(in_.now + flush)) require_nothing_left();
  }
  void begin_last() {
    in_.note("last minority", static_cast<std::uint64_t>(last_));
    for (std::size_t i = 0; i < servers_ / 2; ++i) {
      if (last_ == last_minority::is_down) store_.crash(i);
      if (last_ != last_minority::is_foreign) continue;
      for (std::size_t name = 0; name < around_.names_used; ++name) squat(i, name);
    }
  }
  void end_last() {
    for (std::size_t i = 0; i < servers_ / 2; ++i) {
      quorum_store::node& each = store_.nodes()[i];
      if (last_ == last_minority::is_down) each.at.come_up();
      for (std::size_t name = 0; name < around_.names_used; ++name)
        (void)each.server.commands_for_foreign_clients()->delete_if_same(name, squatter);
    }
    last_ = last_minority::works;
  }
  /// A foreign holder on that server, as soon as the key is free, and until the end.
  void squat(std::size_t server, std::size_t name) {
    if (last_ != last_minority::is_foreign) return;
    const auto commands = store_.nodes()[server].server.commands_for_foreign_clients();
    if (!commands->set_if_absent(name, squatter, 60s).value_or(false))
      in_.after(20ms, [this, server, name] { squat(server, name); });
  }
  void require_nothing_left() {
    clients_.require_still(0);
    // Where clocks were set back, dead claims live longer.
    const std::size_t first = under_.only.empty() ? 0 : servers_ / 2;
    for (std::size_t i = first; i < servers_; ++i) {
      for (const standing& s : store_.nodes()[i].server.claims())
        in_.require(false, "a claim is left after everybody has closed: " + s.owner.hex());
    }
    in_.require(store_.damage().empty(), store_.damage());
  }

  inline static const std::string squatter = "0123456789abcdef0123456789abcdef";

  scene in_;
  const circumstances& under_;
  std::size_t servers_;
  rates rates_;
  site calm_;  // not, while something is wrong with a server
  quorum_ledger counts_;
  witness sees_;
  election_watch elections_;
  quorum_store store_;
  surroundings around_;
  client_group clients_;
  forger forger_;
  bool forges_ = false;
  last_minority last_ = last_minority::works;
  quorum_fault_injector fault_injector_;
  release_requests requests_;
  request_watch hears_;
  spread_watch spread_;
  std::deque<quorum_foreign_client> foreign_clients_;
};

}  // namespace

outcome run_on_quorum(std::uint64_t seed, const circumstances& under) {
  return quorum_world{seed, under}.live();
}

}  // namespace holdfast::sim
