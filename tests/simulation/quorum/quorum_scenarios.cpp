#include "simulation/quorum/quorum_scenarios.hpp"

#include <array>
#include <chrono>
#include <stdexcept>
#include <string>

#include "simulation/quorum/stage.hpp"

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

constexpr duration silence = 3s;

/// M. Kleppmann, "How to do distributed locking": a client is paused after its grant, and does not look
/// before it writes. The servers' clocks are set back, so that the next number is not larger by itself.
void client_pauses_after_its_grant(stage& on) {
  actor& first = on.enter();
  actor& second = on.enter();
  first.lock(600ms);
  on.run(100ms);
  on.require(first.holds(), "a free lock is not granted");
  first.at.pause(false);
  on.run(700ms);
  (void)on.store.claims();  // the servers find that the hold has ended
  for (quorum_store::node& each : on.store.nodes()) each.at.wall.step(on.in.now, -900ms);
  second.lock(3s);
  on.run(300ms);
  on.require(second.holds(), "the lock of a client that is paused is not granted");
  second.write();
  first.write();
  on.require(on.sees.stale_refused() == 1, "the resource took a stale write");
}

/// The same article: a server's clock jumps, and ends what the server has granted.
void clock_jumps_on_one_server(stage& on) {
  actor& first = on.enter();
  actor& second = on.enter();
  first.lock(3s);
  on.run(100ms);
  on.require(first.holds(), "a free lock is not granted");
  on.server(0).at.wall.step(on.in.now, 60s);
  second.lock(3s, false);
  on.run(500ms);
  on.require(second.is_answered() && !second.holds(), "one clock grants a lock that is held");
  on.run(3s);
  on.require(first.holds(), "one clock ends a hold");
}

/// The same article, and S. Sanfilippo's answer ("Is Redlock safe?"): a server is restarted without memory,
/// and votes for another client within the ttl. The third server does not hear of the first client.
void server_restarts_without_memory(stage& on) {
  actor& first = on.enter();
  actor& second = on.enter();
  on.part(first, 2, 5s);
  first.lock(3s);
  on.run(100ms);
  on.require(first.holds(), "a majority does not grant");
  on.restart(0, true);
  second.lock(3s, false);
  on.run(500ms);
  on.require(first.holds() && second.is_answered(), "a server that was restarted ends a hold");
  on.require(!second.holds(), "a server that was restarted without memory votes");
}

/// A claim is granted while its client hears nothing. The client asks before it counts its votes, and the
/// answers take that long.
void wait_and_hear_late(stage& on, actor& holder, actor& slow, duration ttl, duration late) {
  holder.lock(3s);
  on.run(100ms);
  slow.lock(ttl, true, false);
  on.run(100ms);
  slow.at.pause(false);
  holder.release();
  on.run(50ms);
  slow.at.resume();
  for (std::size_t i = 0; i < 3; ++i) on.store.way(slow.at, i).stall_until(on.in.now + late);
}

/// The same article: the answers are under way for longer than the lock is valid.
void answers_slower_than_the_validity(stage& on) {
  actor& holder = on.enter();
  actor& slow = on.enter();
  actor& next = on.enter();
  wait_and_hear_late(on, holder, slow, 600ms, 2s);
  on.run(1s);
  next.lock(3s);
  on.run(500ms);
  on.require(next.holds(), "grants that nobody keeps do not end");
  on.run(1s);
  on.require(!slow.holds(), "a lock is granted that is not valid any more");
}

/// Answers that are slow, but not too slow, make a lock valid for a shorter time.
void validity_counts_from_the_sending(stage& on) {
  actor& holder = on.enter();
  actor& slow = on.enter();
  actor& next = on.enter();
  wait_and_hear_late(on, holder, slow, 3s, 600ms);
  on.run(700ms);
  on.require(slow.holds(), "a lock is not granted that is valid");
  next.lock(3s);
  on.run(3s);
  on.require(next.holds() && !slow.holds(), "a hold that nobody renews does not end");
}

/// A request is carried out after the claim was withdrawn: over a connection that the server takes for
/// living. Nobody releases that claim. It has a minority, and ends by its ttl.
void claim_comes_after_its_release(stage& on) {
  actor& first = on.enter();
  actor& second = on.enter();
  host other{on.in, 77, clock{1h}, clock{1h}};
  line late{on.in, other, on.server(0).at, 1ms};
  const auto link = on.server(0).server.connect(other, late, 10s);
  late.connect_soon();
  first.lock(3s);
  on.run(500ms);
  first.release();
  on.run(100ms);
  tickets::request claim;
  claim.kind = tickets::task::acquire;
  claim.step = tickets::ballot_step::claim;
  claim.name = name_of(0);
  claim.owner = first.owner();
  claim.token = fencing_token{static_cast<std::uint64_t>(on.server(0).at.wall_now())};
  claim.weight = claim.capacity = store::full_capacity;
  claim.ttl = 2s;
  claim.wait = true;
  claim.metadata = std::make_shared<const std::string>("{}");
  link->send(claim, [](const tickets::link::outcome&) {});
  on.run(50ms);
  on.require(on.store.count_of_grants(0, first.owner()) == 1, "the late claim was not carried out");
  second.lock(3s);
  on.run(300ms);
  on.require(second.holds(), "a claim of nobody at one server is in the way");
  on.run(3s);
  on.require(on.store.count_of_grants(0, first.owner()) == 0, "a claim of nobody does not end");
  on.require(on.store.count_of_grants(0, second.owner()) == 3, "the next claim does not take its place");
  late.hang_up();
}

/// A lock that was taken while a server was away survives the loss of another one.
void hold_survives_the_loss_of_a_server(stage& on) {
  actor& first = on.enter();
  actor& second = on.enter();
  on.part(first, 2, 500ms);
  first.lock(3s);
  on.run(3s);  // a renewal
  on.require(first.holds(), "a majority does not grant");
  on.store.crash(0);
  second.lock(3s);
  on.run(6s);
  on.require(first.holds() && !second.is_answered(), "a hold is lost with one server");
}

struct named_scenario {
  std::string_view name;
  void (*play)(stage& on);
};
constexpr auto scenarios = std::to_array<named_scenario>({
    {"client-pauses-after-its-grant", client_pauses_after_its_grant},
    {"clock-jumps-on-one-server", clock_jumps_on_one_server},
    {"server-restarts-without-memory", server_restarts_without_memory},
    {"answers-slower-than-the-validity", answers_slower_than_the_validity},
    {"validity-counts-from-the-sending", validity_counts_from_the_sending},
    {"claim-comes-after-its-release", claim_comes_after_its_release},
    {"hold-survives-the-loss-of-a-server", hold_survives_the_loss_of_a_server},
});

}  // namespace

outcome run_scenario(std::string_view name, const circumstances& under) {
  for (const named_scenario& each : scenarios) {
    if (each.name != name) continue;
    stage on{under, silence};
    each.play(on);
    return outcome{on.around};
  }
  throw std::invalid_argument{"no such scenario: " + std::string{name}};
}

}  // namespace holdfast::sim
