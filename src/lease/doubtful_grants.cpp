// Grants of which it is not known whether their session still lives.

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "lease/lease_manager.hpp"

namespace holdfast::lease_core {

using store::time_point;

namespace {

failure in_doubt() {
  return {errc::unavailable,
          "the lock was granted and is released again: the store did not confirm in time that the client's "
          "session lives"};
}

}  // namespace

/// The store has granted the claim, but its session has not been confirmed for too long, as after a stall.
/// The session may have survived. The claim waits for the proof as it waits for an answer, so a waiter does
/// not lose its grant.
void lease_manager::doubt(claim_id id, const wish& request, const store::granted& grant,
                          const lease_record_ptr& lease) {
  constexpr duration least_patience = std::chrono::seconds{1};
  const auto found = pending_.find(id);
  if (found == pending_.end()) return give_back(lease, nullptr);
  const duration patience = request.claim.wait ? request.claim.retry.limit() : duration::zero();
  found->second.doubtful = lease;
  found->second.doubted_until = time_.now() + std::max(patience, least_patience);
  // The claim has its grant before anything is copied: whatever ends it gives that back.
  wish doubted = request;
  remember(doubted, grant);
  wait_for_proof(id, doubted);
}

void lease_manager::wait_for_proof(claim_id id, const wish& request) {
  pending& p = pending_.at(id);
  const time_point next = time_.now() + p.doubtful->pause.next(time_.random());
  p.next_proof = time_.at(next, [this, id, request] {
    pending& doubted = pending_.at(id);
    doubted.next_proof = 0;
    const time_point now = time_.now();
    if (port_.session_until().value_or(now) > now) {
      // The session lives. The hold may yet be one of a former session.
      port_.renew({doubted.doubtful->hold}, doubted.doubted_until,
                  [this, id, request](const store::renewals& answer) { on_proof(id, request, answer); });
    } else if (now >= doubted.doubted_until) {
      give_up_doubtful(id, request);
    } else {
      wait_for_proof(id, request);
    }
  });
}

void lease_manager::on_proof(claim_id id, const wish& request, const store::renewals& answer) {
  const auto found = pending_.find(id);
  if (found == pending_.end()) return;  // the claim was given up meanwhile, and its grant is released
  const lease_record_ptr lease = found->second.doubtful;
  try {
    judge(id, request, lease, answer);
  } catch (const std::exception& e) {
    give_up_grant(id, request.claim, lease->hold.token, e);
  }
}

void lease_manager::judge(claim_id id, const wish& request, const lease_record_ptr& lease,
                          const store::renewals& answer) {
  pending& claim = pending_.at(id);
  const time_point now = time_.now();
  if (answer.each.at(0) == store::renewed::lost) {
    claim.doubtful = nullptr;
    give_back(lease, nullptr);
    return ask_anew(id, request);
  }
  const bool believed = answer.each.at(0) == store::renewed::yes &&
                        now < deadline_of(answer.sent, lease->ttl(), lease->margin) &&
                        now < port_.session_until().value_or(time_point::max());
  if (believed) {
    claim.doubtful = nullptr;
    return begin(id, lease, answer.sent, request.first_sent.value_or(answer.sent), now);
  }
  if (now >= claim.doubted_until) return give_up_doubtful(id, request);
  wait_for_proof(id, request);
}

/// A candidate of an election stands by again.
void lease_manager::give_up_doubtful(claim_id id, const wish& request) {
  if (!request.claim.election || !request.claim.wait) return abandon(id, in_doubt());
  give_back(std::exchange(pending_.at(id).doubtful, nullptr), nullptr);
  ask_anew(id, request);
}

void lease_manager::time_is_up(claim_id id) {
  const auto found = pending_.find(id);
  if (found == pending_.end()) return;
  if (found->second.doubtful) return abandon(id, in_doubt());
  const auto error = port_.error_now(found->second.owner);
  abandon(id, error ? taken{*error} : taken{not_had{}});
}

}  // namespace holdfast::lease_core
