// What becomes of the answer to a claim.

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "base/exceptions.hpp"
#include "lease/lease_manager.hpp"
#include "lease/reports.hpp"

namespace holdfast::lease_core {

using store::time_point;

namespace {

time_point first_sent(const wish& request, const store::granted& grant) {
  return request.first_sent.value_or(grant.first_sent == time_point{} ? grant.valid_from : grant.first_sent);
}

}  // namespace

void remember(wish& request, const store::granted& grant) {
  request.first_sent = first_sent(request, grant);
  request.claim.was_queued = grant.was_queued;
}

/// A grant arrived after its deadline: this process was paused, or the round trip is longer than the ttl. A
/// claim that waits is made again, a limited number of times.
void lease_manager::ask_again(claim_id id, wish request, const store::granted& late) {
  constexpr int at_most = 3;
  const auto found = pending_.find(id);
  if (found == pending_.end()) return;
  const bool stands_by = request.claim.election;  // an election waits until its candidate gives up
  if (!request.claim.wait || (++found->second.too_late >= at_most && !stands_by)) {
    return finish(
        id, failure{errc::lost, "the grant took longer to arrive than its ttl lasts; ask for a longer ttl"});
  }
  remember(request, late);
  ask_anew(id, std::move(request));
}

void lease_manager::ask_anew(claim_id id, wish request) {
  request.claim.owner = time_.new_owner();  // the old one's withdrawal is still under way
  request.claim.stood_by = request.claim.wait;
  pending& p = pending_.at(id);
  p.owner = request.claim.owner;
  p.release_requested = false;  // that was the old one
  ask(id, std::move(request));
}

void lease_manager::on_acquired(claim_id id, const wish& request, store::acquired result) {
  if (auto* const failed = std::get_if<failure>(&result)) return finish(id, std::move(*failed));
  if (std::holds_alternative<store::refused>(result)) return finish(id, not_had{});
  const auto& grant = std::get<store::granted>(result);
  try {
    on_granted(id, request, grant);
  } catch (const std::exception& e) {
    give_up_grant(id, request.claim, grant.token, e);
  }
}

/// There is no memory for what follows a grant: it is given back as far as possible, and the claim fails.
void lease_manager::give_up_grant(claim_id id, const store::claim& claim, fencing_token token,
                                  const std::exception& reason) {
  contain_exceptions([&] {
    const time_point now = time_.now();
    const auto found = by_owner_.find(claim.owner);
    if (const lease_record_ptr lease = found == by_owner_.end() ? nullptr : found->second.lock()) {
      let_go(lease, now);
    }
    const duration ttl = store::store_ttl(claim);
    port_.release({claim.name, claim.owner, token, ttl}, now + ttl, [](store::released) {});
  });
  finish(id, failure{errc::exhausted, reason.what()});
}

void lease_manager::on_granted(claim_id id, const wish& request, const store::granted& grant) {
  const store::claim& c = request.claim;
  const auto lease =
      std::make_shared<lease_record>(store::hold{c.name, c.owner, grant.token, store::store_ttl(c)}, c.mode,
                                     c.permits, request.margin, request.renews, c.retry);
  lease->grace = c.grace;
  lease->at_least = request.at_least;
  const bool is_observed = journal_ != nullptr && journal_->is_observed();
  if (request.at_least != duration::zero() || is_observed) lease->metadata = c.metadata;
  const time_point now = time_.now();
  const time_point end = deadline_of(grant.valid_from, c.ttl, request.margin);
  lease->set_deadline(end);
  if (now >= end) {
    // It arrived after its deadline. At the store it may still hold: that ends first, also where there is no
    // memory for another claim.
    give_back(lease, nullptr);
    return ask_again(id, request, grant);
  }
  if (port_.session_until().value_or(time_point::max()) <= now) return doubt(id, request, grant, lease);
  begin(id, lease, grant.valid_from, first_sent(request, grant), now);
}

void lease_manager::begin(claim_id id, const lease_record_ptr& lease, time_point valid_from,
                          time_point first_sent, time_point now) {
  lease->granted_at = now;
  by_owner_[lease->hold.owner] = lease;
  keeper_.add(lease, valid_from);
  // After what may fail for want of memory; from here on the lease has an end, too.
  report_granted(journal_, *lease, std::chrono::duration_cast<duration>(now - first_sent));
  const auto found = pending_.find(id);
  if (found != pending_.end() && found->second.release_requested) look_for_request(lease->hold.owner);
  finish(id, lease);
}

}  // namespace holdfast::lease_core
