// SPDX-License-Identifier: Apache-2.0
// A claim ends, and its owner claims again: what was meant for the former claim comes late.

#include <chrono>
#include <cstdint>
#include <deque>

#include "simulation/quorum/former_connection.hpp"
#include "simulation/quorum/scenario_parts.hpp"

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

/// A majority refuses a candidate for a while, and keeps its claim in the queue: the withdrawal is refused,
/// too. The candidate claims again, and is elected.
/// \return the time of a server between the two claims: the number of the former one is not above it.
fencing_token claim_again(stage& on, actor& candidate) {
  actor& holder = on.enter();
  require_grant(on, holder, 20s);
  candidate.stand(3s);
  on.run(100ms);
  const fencing_token between{static_cast<std::uint64_t>(on.server(0).at.wall_now())};
  for (const std::size_t each : {0U, 1U}) on.server(each).server.refuse_for_rights_until(on.in.now + 1500ms);
  on.run(4s);
  on.require(!candidate.is_answered(), "a candidate that is refused for a while does not stand by");
  holder.release();
  on.run(100ms);
  on.require(candidate.holds(), "a claim that is made again is not granted");
  return between;
}

/// The server accepts no number that is behind its clock.
std::uint64_t number_ahead(stage& on) {
  return static_cast<std::uint64_t>(on.server(0).at.wall_now()) + 500'000;
}

/// The former claim holds beside another reader.
void share_is_in_the_way_of_none(stage& on, former_connection& link) {
  const owner_id owner = drawn(on.in.chance);
  const owner_id reader = drawn(on.in.chance);
  const std::uint64_t number = number_ahead(on);
  (void)link.claim(owner, fencing_token{number}, 2s, 1);
  (void)link.claim(reader, fencing_token{number + 1}, 2s, 1);
  on.require(on.store.count_of_grants(0, owner) == 1 && on.store.count_of_grants(0, reader) == 1,
             "two do not read together");
  (void)link.claim(owner, fencing_token{number + 2});
  on.require(on.store.count_of_grants(0, owner) == 0, "a later claim has the hold of its owner's former one");
  link.withdraw(reader, fencing_token{number + 1});
  on.require(on.store.count_of_grants(0, owner) == 1, "a reader that has ended keeps a writer waiting");
}

}  // namespace

void former_claim_is_withdrawn_late(stage& on) {
  actor& candidate = on.enter();
  actor& next = on.enter();
  std::deque<former_connection> late;
  for (const std::size_t each : {0U, 1U}) late.emplace_back(on, each);
  const fencing_token between = claim_again(on, candidate);
  for (former_connection& each : late) each.withdraw(candidate.owner(), between);
  next.lock(3s);
  on.run(300ms);
  on.require(candidate.holds() && !next.holds(), "a late withdrawal ends a later claim of its owner");
}

void former_claim_is_ended_by_force_late(stage& on) {
  actor& candidate = on.enter();
  former_connection late{on, 0};
  const fencing_token between = claim_again(on, candidate);
  late.end_by_force(candidate.owner(), between);
  on.require(on.store.count_of_grants(0, candidate.owner()) == 3,
             "a late end by force ends a later hold of its owner");
}

/// The withdrawal of a claim that a server has granted has not come, and the owner's next claim has.
void former_hold_is_in_the_way_of_none(stage& on) {
  former_connection link{on, 0};
  const owner_id owner = drawn(on.in.chance);
  const owner_id other = drawn(on.in.chance);
  const std::uint64_t number = number_ahead(on);
  const fencing_token former{number};
  const fencing_token waiting{number + 1};
  const fencing_token later{number + 2};
  on.require(link.claim(owner, former).accepted == former, "a free lock is not granted");
  (void)link.claim(other, waiting);
  (void)link.claim(owner, later);
  on.require(on.store.count_of_grants(0, other) == 1 && on.store.count_of_grants(0, owner) == 0,
             "a later claim of the holder has the place of its former one");
  link.withdraw(owner, former);
  link.withdraw(other, waiting);
  on.require(link.claim(owner, later).accepted == later, "a later claim does not wait for its turn");
  (void)link.claim(owner, former);
  link.withdraw(owner, former);
  on.require(on.store.count_of_grants(0, owner) == 1, "a late copy of a former claim takes the lock along");
  link.withdraw(owner, later);
  on.require(on.store.count_of_grants(0, owner) == 0, "a claim is not withdrawn");
  share_is_in_the_way_of_none(on, link);
}

/// The first that waits claims again, behind the next one, which is the first now.
void next_in_line_is_told(stage& on) {
  former_connection link{on, 0};
  const owner_id holder = drawn(on.in.chance);
  const owner_id first = drawn(on.in.chance);
  const owner_id next = drawn(on.in.chance);
  const std::uint64_t number = number_ahead(on);
  (void)link.claim(holder, fencing_token{number});
  (void)link.claim(first, fencing_token{number + 1});
  (void)link.claim(next, fencing_token{number + 2});
  on.require(!link.is_told_to_look(next), "the second that waits is told to look for the end of the holder");
  (void)link.claim(first, fencing_token{number + 3});
  on.require(link.is_told_to_look(next),
             "who is the first now is not told to look for the end of the holder");
}

}  // namespace holdfast::sim
