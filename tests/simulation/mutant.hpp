// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace holdfast::sim {

// Faults put into the code on purpose: EACH(name, description). One that no world shows is a fault of
// the simulator. On the command line a name has dashes.
#define HOLDFAST_MUTANTS(EACH)                                                                               \
  EACH(owner_unchecked, "owner not checked on release")                                                      \
  EACH(validity_from_reply, "validity counted from the reply")                                               \
  EACH(extension_resurrects, "extension resurrects an expired hold")                                         \
  EACH(keeper_outlives_unlock, "keeper outlives unlock")                                                     \
  EACH(keeper_gives_up, "keeper gives up after one failure")                                                 \
  EACH(timeout_means_no, "timeout taken as \"not acquired\"")                                                \
  EACH(unknown_means_failed, "an unknown outcome told as a failure")                                         \
  EACH(cancel_keeps_ticket, "cancelled wait keeps its ticket")                                               \
  EACH(dead_waiter_served, "hand-over to a dead waiter")                                                     \
  EACH(never_looks_again, "lost wake-up never looked for again")                                             \
  EACH(reader_leaked, "reader count leaked")                                                                 \
  EACH(clock_stops_in_suspend, "deadline on a clock that stops in suspend")                                  \
  EACH(foreign_holder_ended, "a foreign client's lock ended by force")                                       \
  EACH(foreign_end_missed, "nobody looks out for a foreign client's end")                                    \
  EACH(replicas_unheard, "a grant believed that no replica has acknowledged")                                \
  EACH(look_not_kept, "a look at a claim begins no new ttl, and writes nothing")                             \
  EACH(moment_not_told, "the head is not told that the lock is left free for a moment")                      \
  EACH(moment_without_end, "the lock is left free for good")                                                 \
  EACH(moment_after_moment, "who withdraws begins another moment in which the lock is left free")            \
  EACH(create_without_guid, "a lost create is made again, and the first not found")                          \
  EACH(former_session_taken, "what a former session had is taken for ours")                                  \
  EACH(session_not_checked, "the session is not looked at before granting")                                  \
  EACH(wrong_neighbour, "another is watched than the nearest ahead")                                         \
  EACH(gave_up_taken_as_release, "whoever is gone ahead is taken to have held")                              \
  EACH(reader_waits_on_later, "a reader waits for a writer behind it")                                       \
  EACH(downgrade_renumbered, "a downgrade queues anew")                                                      \
  EACH(delete_not_retried, "a delete that was cut off is not tried again")                                   \
  EACH(disconnect_means_loss, "a broken connection is told as a loss")                                       \
  EACH(reconnect_means_proof, "being let in again is taken for a proof that the session lives")              \
  EACH(beat_means_proof, "one answered beat is taken for a proof that the session lives")                    \
  EACH(listing_too_early, "a claim takes a listing that was sent before its node was made")                  \
  EACH(row_deleted_on_release, "a name's row goes with its last claim")                                      \
  EACH(token_not_floored, "a forgotten name's tokens begin anew")                                            \
  EACH(client_clock_expiry, "the asking client's clock decides what has expired")                            \
  EACH(victim_means_no, "a deadlock's victim is taken to be refused")                                        \
  EACH(late_answer_renews, "an answer after the deadline takes a loss back")                                 \
  EACH(gap_ignored, "no waiter looks after a reconnect")                                                     \
  EACH(release_not_repeated, "a release is tried once")                                                      \
  EACH(holder_not_followed, "the head of the queue looks a second after the holder's time is up")            \
  EACH(force_release_unbounded, "who ends holds by force ends whoever holds by then")                        \
  EACH(request_moves_end, "a request to release moves the end of the hold")                                  \
  EACH(request_unheard, "a holder does not look at the request that it is told of")                          \
  EACH(request_to_next_holder, "a request to release goes to whoever holds when it is carried out")          \
  EACH(request_overwrites_data,                                                                              \
       "on ZooKeeper, a request to release takes the place of the data of a holder of ours")                 \
  EACH(notification_believed, "a notification of a grant is believed")                                       \
  EACH(proof_ignored, "a notification of a grant is believed without its proof")                             \
  EACH(proof_kept, "a claim keeps its proof for its next place")                                             \
  EACH(proof_despite_request, "a grant is believed while a request of its claim is under way")               \
  EACH(proof_on_any_connection, "a grant is believed that came on another connection than the last answer")  \
  EACH(set_keeps_names, "a set of names that waits for one keeps those after it")                            \
  EACH(set_ends_holding, "a set of names that is given up keeps what it holds")                              \
  EACH(set_misses_losses, "a set of names goes on without one that it has lost")                             \
  EACH(set_in_any_order, "sets of names are waited for in different orders")                                 \
  EACH(joint_release_forgets_one, "one of several releases in one request is forgotten")                     \
  EACH(joint_claim_goes_on, "claims behind a refused one in the same request are made, and not told")        \
  EACH(joint_answers_swapped, "of several claims in one request each takes the answer of another")           \
  EACH(joint_refusal_skipped, "a claim behind a refused one in the same request is taken for granted")       \
  EACH(guard_ignored, "no client asks a server whether it may have forgotten grants")                        \
  EACH(guard_hands_over, "a server that may have forgotten grants lets nobody in, but hands over")           \
  EACH(guard_for_one, "only the first client of a promoted server keeps to the guard")                       \
  EACH(guard_too_short, "the guard is half as long as the longest ttl")                                      \
  EACH(guard_without_lag,                                                                                    \
       "the guard is not longer than the longest ttl by the time in which a former primary goes on")         \
  EACH(guard_after_promotion_ignored, "a server that was promoted in the same run has no guard")             \
  EACH(guard_believes_kept_writes, "a promoted server that keeps each write has no guard")                   \
  EACH(former_primary_too_short,                                                                             \
       "a new primary is used after half of the time in which a former one takes writes")                    \
  EACH(guard_head_start, "a token is ahead of the clock when it is granted after a guard")                   \
  EACH(fence_forgotten_early, "such a token is forgotten before the clock has passed it")                    \
  EACH(guard_asked_once, "a client asks once a connection whether the server may have forgotten grants")     \
  EACH(former_primary_ignored,                                                                               \
       "a new primary is used at once, beside the former one that still takes writes")                       \
  EACH(never_yields, "a claim without a majority keeps the votes that it has")                               \
  EACH(answers_as_grants, "a place in the queue of a server counts as its vote")                             \
  EACH(stale_votes, "a vote counts beyond its server's deadline")                                            \
  EACH(server_counts_twice, "a server counts twice for the majority")                                        \
  EACH(tokens_not_compared, "votes for several tokens count together")                                       \
  EACH(tokens_unconditional, "a server accepts any token")                                                   \
  EACH(holder_yields, "a claim with a majority gives votes back")                                            \
  EACH(late_yield, "a late yield gives back a later grant")                                                  \
  EACH(yield_not_renumbered, "a copy of a yield that was refused gives the grant back")                      \
  EACH(withdrawal_ends_later_claims, "a late withdrawal ends a later claim of its owner")                    \
  EACH(force_ends_later_claims, "a late end by force ends a later hold of its owner")                        \
  EACH(former_claim_stays, "a server that still has a former claim of an owner takes a later one for it")    \
  EACH(next_not_told,                                                                                        \
       "on Redlock, a later claim of the first that waits does not tell the next one that it is the first")  \
  EACH(yielding_counts, "a vote that is being given back counts until the answer")                           \
  EACH(vote_by_notification, "a notification of a grant counts as a vote without a proof")                   \
  EACH(number_far_ahead, "a server accepts a token that is far ahead of its clock")                          \
  EACH(ties_without_owner, "claims with equal numbers have no order")                                        \
  EACH(old_numbers, "a server accepts numbers from before its restart")                                      \
  EACH(guard_votes, "a server in its guard says that it has granted what it still knows")                    \
  EACH(hold_not_spread, "a hold is not claimed at servers that lack it")                                     \
  EACH(token_not_told, "a server that does not accept the token of a hold any more is not told which it is") \
  EACH(keeps_vain_votes, "a claim keeps votes of a majority that accepts no token of it")                    \
  EACH(lapsed_votes_revived,                                                                                 \
       "an answer revives votes of other servers that had lapsed while it was under way")                    \
  EACH(grant_outlives_ttl, "a server that grants a free lock lets it live as long as it remembers the name") \
  EACH(own_fence_refused, "a server does not accept a number again from the claim that set it as the fence") \
  EACH(fence_for_anyone, "a server accepts the number of its fence from any claim")                          \
  EACH(proposal_without_clock,                                                                               \
       "a claim proposes the number right above the fences, whatever the servers' clocks say")               \
  EACH(servers_not_told_set, "no client tells the servers which ones it names")                              \
  EACH(other_set_ignored, "a client claims although other clients of a server name other servers")           \
  EACH(grace_delays_release, "a release waits for the grace, too")                                           \
  EACH(grace_forgotten, "the store is not told of the grace")                                                \
  EACH(at_least_forgotten, "a release before the least time frees the name")                                 \
  EACH(older_term_shown, "an observer shows a value of an older term after one of a newer")                  \
  EACH(former_look_shown, "a look is answered with what another has seen before")

#define HOLDFAST_NAME_OF(name, description) name,
enum class mutant : std::uint8_t { none, HOLDFAST_MUTANTS(HOLDFAST_NAME_OF) };
#undef HOLDFAST_NAME_OF

struct named_mutant {
  std::string_view name;
  mutant which;
};
#define HOLDFAST_ROW_OF(name, description) named_mutant{#name, mutant::name},
inline constexpr std::array mutants = {HOLDFAST_MUTANTS(HOLDFAST_ROW_OF)};
#undef HOLDFAST_ROW_OF

}  // namespace holdfast::sim
