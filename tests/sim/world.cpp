#include "sim/world.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>

namespace holdfast::sim {

namespace {

using namespace std::chrono_literals;

constexpr duration bad_weather = 60s;
/// A ttl, what the clocks' rates add to it, and one more look or try, whichever is longer; and the
/// connection has to be there again first.
constexpr duration served_within = longest_ttl + longest_ttl / 100 + 1s + 1s + 600ms;
/// Nobody is in the way any more but others who do the same.
constexpr duration last_round = 3s;
constexpr duration flush = 1s;

/// Rates within the drift margin, on one side or on both.
struct rates {
  explicit rates(randomness& chance) {
    const auto within = [&](std::int64_t most) {
      return static_cast<std::int64_t>(chance.below(static_cast<std::uint64_t>(2 * most + 1))) - most;
    };
    const auto kind = chance.below(3);
    server = kind == 0 ? 0 : within(kind == 1 ? 10'000 : 5'000);
    for (std::int64_t& c : clients) c = kind == 1 ? 0 : within(kind == 0 ? 10'000 : 5'000);
  }
  std::int64_t server = 0;
  std::array<std::int64_t, 5> clients{};
};

class world {
 public:
  world(simulated_store& store, std::uint64_t seed, const circumstances& under)
      : in_{seed, under.prints},
        rates_{in_.chance},
        server_{in_, clock{1h, rates_.server}, clock{24h * 365 * 50, rates_.server}},
        account_{in_, server_, store.terms(), [&store] { return store.claims(); }},
        sees_{in_, account_},
        around_{in_, server_, account_, sees_, store, under.with, in_.chance.between(300ms, 8s), 0},
        chaos_{around_, clients_, instant{bad_weather}, under.only} {
    store.begin(in_, server_, account_);
    account_.evictions_allowed = under.with != mutant::get_then_delete;
    const std::size_t count = 3 + in_.chance.below(3);
    for (std::size_t i = 0; i < count; ++i) {
      const auto boot = std::chrono::duration_cast<clock::reading>(in_.chance.between(1h, 2h));
      const auto wall = 24h * 365 * 50 + in_.chance.between(0ms, 4s) - duration{2s};
      clients_.emplace_back(around_, static_cast<std::uint8_t>(i + 1), clock{boot, rates_.clients.at(i)},
                            clock{wall, rates_.clients.at(i)}, in_.chance.between(100us, 2ms),
                            1 + in_.chance.below(3));
    }
  }

  outcome live() {
    pass_time();
    outcome o;
    o.violation = in_.violation;
    o.hash = in_.log.hash();
    o.operations = around_.operations;
    o.requests = account_.requests();
    o.grants = sees_.grants();
    o.excused_overlaps = sees_.excused();
    o.stale_refused = sees_.stale_refused();
    o.events = events_;
    return o;
  }

 private:
  void pass_time() {
    for (client& c : clients_) c.start();
    chaos_.begin();
    if (!run_until(instant{bad_weather})) return;
    chaos_.heal();
    for (client& c : clients_) c.retire();
    if (!run_until(in_.now + served_within + account_.longer())) return;
    for (const client& c : clients_) require(!c.waits_since_before(), "somebody waits for ever");
    account_.trust_again();
    if (!run_until(in_.now + last_round)) return;
    for (const client& c : clients_) require(c.is_done(), "a name cannot be had in fair weather");
    for (client& c : clients_) c.close();
    if (run_until(in_.now + flush)) require_nothing_left();
  }
  /// False once something was found.
  bool run_until(instant until) {
    while (in_.violation.empty() && !in_.agenda.empty() && in_.agenda.next() <= until) {
      in_.now = in_.agenda.next();
      action what = in_.agenda.take();
      try {
        what();
      } catch (const std::exception& e) {
        in_.violated(std::string{"thrown: "} + e.what());
      }
      ++events_;
    }
    if (!in_.violation.empty()) return false;
    in_.now = until;
    return true;
  }
  void require(bool holds, const std::string& otherwise) {
    if (!holds && in_.violation.empty()) in_.violated(otherwise);
  }
  void require_nothing_left() {
    for (const client& c : clients_) {
      require(c.busy() == 0, "a closed client is still at it");
      require(c.at.timers() == 0, "a closed client would still wake up");
    }
    const auto there = around_.store.claims();
    account_.compare(there);
    require(account_.living() == 0, "claims are left after everybody has closed");
    require(around_.store.damage().empty(), around_.store.damage());
  }

  scene in_;
  rates rates_;
  site server_;
  ledger account_;
  witness sees_;
  surroundings around_;
  std::deque<client> clients_;
  chaos chaos_;
  std::uint64_t events_ = 0;
};

}  // namespace

outcome run(simulated_store& store, std::uint64_t seed, const circumstances& under) {
  return world{store, seed, under}.live();
}

}  // namespace holdfast::sim
