// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "simulation/quorum/former_connection.hpp"
#include "simulation/quorum/scenario_parts.hpp"
#include "simulation/world.hpp"

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

constexpr duration silence = 3s;

/// M. Kleppmann, "How to do distributed locking": a client is paused after its grant, and does not look
/// before it writes. The servers' clocks are set back, so that the next number is not larger by itself.
void client_pauses_after_its_grant(stage& on) {
  actor& first = on.enter();
  actor& between = on.enter();
  actor& second = on.enter();
  require_grant(on, first, 600ms);
  first.at.pause(false);
  on.run(700ms);
  require_grant(on, between, 3s, 50ms, "the lock of a client that is paused is not granted");
  between.release();
  on.run(20ms);
  for (quorum_store::node& each : on.store.nodes()) each.at.wall.step(on.in.now, -1s);
  require_grant(on, second, 3s, 300ms, "the lock is not granted again");
  second.write();
  first.write();
  on.require(on.sees.stale_refused() == 1, "the resource took a stale write");
}

/// The same article, and S. Sanfilippo's answer ("Is Redlock safe?"): a server is restarted without memory,
/// and votes for another client within the ttl. The third server does not hear of the first client.
void server_restarts_without_memory(stage& on) {
  actor& first = on.enter();
  actor& second = on.enter();
  on.part(first, 2, 5s);
  require_grant(on, first, 3s, 100ms, "a majority does not grant");
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

/// Nobody releases a claim that is carried out after its release. It has a minority, and ends by its ttl.
void claim_comes_after_its_release(stage& on) {
  actor& first = on.enter();
  actor& second = on.enter();
  former_connection late{on, 0};
  first.lock(3s);
  on.run(500ms);
  first.release();
  on.run(100ms);
  (void)late.claim(first.owner(), fencing_token{static_cast<std::uint64_t>(on.server(0).at.wall_now())});
  on.require(on.store.count_of_grants(0, first.owner()) == 1, "the late claim was not carried out");
  require_grant(on, second, 3s, 300ms, "a claim of nobody at one server is in the way");
  on.run(3s);
  on.require(on.store.count_of_grants(0, first.owner()) == 0, "a claim of nobody does not end");
  on.require(on.store.count_of_grants(0, second.owner()) == 3, "the next claim does not take its place");
}

/// A yield was repeated, and answered: nobody goes first. Its copies come when somebody does, and the client
/// relies on its votes.
void yield_comes_after_its_answer(stage& on) {
  actor& first = on.enter();
  actor& second = on.enter();
  former_connection late_at_0{on, 0};
  former_connection late_at_1{on, 1};
  first.lock(3s);
  on.run(100ms);
  const std::uint64_t grant_at_0 = late_at_0.claim(first.owner(), fencing_token{1}).grant;
  const std::uint64_t grant_at_1 = late_at_1.claim(first.owner(), fencing_token{1}).grant;
  late_at_0.yield(first.owner(), grant_at_0);
  late_at_1.yield(first.owner(), grant_at_1);
  for (quorum_store::node& each : on.store.nodes()) each.at.wall.step(on.in.now, -1s);
  second.lock(3s);  // with a smaller number
  on.run(100ms);
  late_at_0.yield(first.owner(), grant_at_0);
  late_at_1.yield(first.owner(), grant_at_1);
  on.run(300ms);
  on.require(grant_at_0 != 0 && first.holds() && !second.holds(), "a late yield gives a hold away");
}

/// The client asks that server.
void notify(stage& on, std::size_t server, const actor& client) {
  on.server(server).server.notify_all({client.owner(), store::notification_kind::look, {}});
}

/// A claim gives a vote back, and gets it again. The server's fence is the number of this claim, and is
/// accepted from this claim alone: it needs no other number.
void number_counts_again_after_a_yield(stage& on) {
  actor& first = on.enter();
  former_connection other{on, 0};
  hold_once(on, first);
  on.part(first, 1, 600ms);
  on.part(first, 2, 20s);
  first.lock(6s);
  on.run(100ms);
  const fencing_token number = other.claim(first.owner(), fencing_token{1}).accepted;
  const owner_id earlier = drawn(on.in.chance);
  (void)other.claim(earlier, fencing_token{number.value() - 500'000}, 500ms);
  on.run(100ms);
  on.require(number && on.store.count_of_grants(0, earlier) == 1,
             "a claim without a majority keeps its vote");
  on.run(1s);  // nobody keeps that claim
  for (const std::size_t server : {0U, 1U}) notify(on, server, first);
  on.run(100ms);
  on.require(first.holds(), "a claim that has waited behind another does not hold");
  on.require(first.token() == number, "a server does not accept the number again from which its fence is");
}

/// A vote ends while its server is out of reach, and another client holds by it. An answer of a third server,
/// which only the first client reaches, brings no vote back.
void vote_ends_while_its_server_is_out_of_reach(stage& on) {
  actor& first = on.enter();
  actor& second = on.enter();
  hold_once(on, first);
  on.part(first, 1, 10s);
  on.part(first, 2, 500ms);
  first.lock(1s);
  on.run(100ms);
  on.part(first, 0, 10s);
  on.part(second, 2, 10s);
  on.run(1s);
  require_grant(on, second, 6s, 100ms, "a vote that nobody keeps does not end");
  notify(on, 2, first);
  on.run(100ms);
  on.require(on.store.count_of_grants(0, first.owner()) == 1, "the third server is not reached again");
  on.require(second.holds() && !first.holds(),
             "two hold: an answer has brought a vote of another server back");
}

/// A claim gave its grant back to one that goes first, and the server has forgotten that.
void server_restarts_without_its_last_writes(stage& on) {
  actor& former = on.enter();
  actor& holder = on.enter();
  hold_once(on, former);
  on.part(former, 1, 10s);
  on.part(former, 2, 1s);
  former.lock(6s);
  on.run(100ms);
  on.server(0).server.remember();
  for (quorum_store::node& each : on.store.nodes()) each.at.wall.step(on.in.now, -500ms);
  on.part(holder, 2, 10s);
  holder.lock(6s, true, false);  // with a smaller number
  on.run(400ms);
  on.require(holder.holds() && !former.is_answered(), "a claim without a majority does not give way");
  on.store.crash(0);
  on.server(0).server.fall_back();
  on.server(0).at.come_up();
  on.run(1s);
  for (const std::size_t server : {0U, 2U}) notify(on, server, former);
  on.run(1s);
  on.require(holder.holds() && !former.holds(), "two hold: a server votes by a grant that it had back");
}

/// A leader may hold for weeks. Each server forgets it once, and gets the hold back with a renewal, but
/// accepts its token no more.
void hold_is_shown_after_each_server_forgot_it(stage& on) {
  actor& first = on.enter();
  require_grant(on, first, 3s, 100ms, "a majority does not grant");
  for (std::size_t i = 0; i < 3; ++i) {
    on.restart(i, true);
    on.run(on.store.guard() + 3s);  // a renewal behind the guard
    first.at.turn([&] { first.look(); });
    on.run(1s);
    on.require(first.holds() && first.is_shown(), "a hold is not shown that servers have got back");
  }
}

struct named_scenario {
  std::string_view name;
  void (*play)(stage& on);
  std::size_t servers = stage::servers_of_a_client;
};
constexpr auto scenarios = std::to_array<named_scenario>({
    {"client-pauses-after-its-grant", client_pauses_after_its_grant},
    {"clock-jumps-in-a-bare-majority", clock_jumps_in_a_bare_majority},
    {"majority-is-emptied-while-it-runs", majority_is_emptied_while_it_runs},
    {"majority-is-restored-from-old-copies", majority_is_restored_from_old_copies},
    {"clients-name-other-servers", clients_name_other_servers, 5},
    {"shared-server-is-silent", shared_server_is_silent_to_clients_of_other_servers, 5},
    {"server-restarts-without-memory", server_restarts_without_memory},
    {"server-restarts-without-its-last-writes", server_restarts_without_its_last_writes},
    {"validity-counts-from-the-sending", validity_counts_from_the_sending},
    {"claim-comes-after-its-release", claim_comes_after_its_release},
    {"yield-comes-after-its-answer", yield_comes_after_its_answer},
    {"former-claim-is-withdrawn-late", former_claim_is_withdrawn_late},
    {"former-claim-is-ended-by-force-late", former_claim_is_ended_by_force_late},
    {"former-hold-is-in-the-way-of-none", former_hold_is_in_the_way_of_none},
    {"next-in-line-is-told", next_in_line_is_told},
    {"vote-ends-while-its-server-is-out-of-reach", vote_ends_while_its_server_is_out_of_reach},
    {"number-counts-again-after-a-yield", number_counts_again_after_a_yield},
    {"hold-is-shown-after-each-server-forgot-it", hold_is_shown_after_each_server_forgot_it},
});

}  // namespace

outcome run_scenario(std::string_view name, const circumstances& under) {
  for (const named_scenario& each : scenarios) {
    if (each.name != name) continue;
    stage on{under, silence, each.servers};
    each.play(on);
    return outcome{on.around};
  }
  throw std::invalid_argument{"no such scenario: " + std::string{name}};
}

}  // namespace holdfast::sim
