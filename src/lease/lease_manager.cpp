#include "lease/lease_manager.hpp"

#include <algorithm>
#include <utility>

#include "base/metadata.hpp"
#include "lease/reports.hpp"

namespace holdfast::lease_core {

using store::time_point;

namespace {

failure cannot_rest() {
  return {errc::invalid_argument,
          "a claim ends with its session on this store, so the name cannot rest after it: claim it without "
          "grace and at_least, or use a store that keeps a ttl of each claim"};
}

/// The holder has released, and the claim is still there.
std::shared_ptr<const std::string> as_released(const std::string& metadata) {
  claimant former = from_metadata(metadata);
  former.released = true;
  return std::make_shared<const std::string>(to_metadata(former));
}

}  // namespace

lease_manager::lease_manager(store::scheduler& time, store::port& port, on_loss lost)
    : time_{time},
      port_{port},
      lost_{std::move(lost)},
      keeper_{time, port,
              [this](const lease_record_ptr& lease, loss_reason reason) { lose(lease, reason); }} {
  port_.on_revoked([this](const owner_id& owner, fencing_token token) {
    const auto found = by_owner_.find(owner);
    const lease_record_ptr lease = found == by_owner_.end() ? nullptr : found->second.lock();
    // Any client may have sent the notification, so the store is asked.
    if (lease && (!token || token == lease->hold.token)) keeper_.confirm_end(lease);
  });
  port_.on_release_requested([this](const owner_id& owner) { look_for_request(owner); });
}

lease_manager::~lease_manager() {
  for (auto& [id, claim] : pending_) {
    time_.cancel(claim.limit);
    time_.cancel(claim.next_proof);
  }
}

lease_manager::claim_id lease_manager::acquire(wish request, std::optional<time_point> limit,
                                               std::function<void(taken)> done) {
  const claim_id id = ++last_;
  std::unique_ptr<const store::claim> observed;  // before the entry: there may be no memory for it
  if (journal_ != nullptr && journal_->is_observed()) {
    observed = std::make_unique<const store::claim>(request.claim);
  }
  pending& p = pending_[id];
  p.owner = request.claim.owner;
  p.done = std::move(done);
  if (observed) p.began = time_.now();
  p.claim = std::move(observed);
  try {
    start(id, std::move(request), limit);
  } catch (...) {  // nothing was sent
    if (const auto found = pending_.find(id); found != pending_.end()) {
      time_.cancel(found->second.limit);
      pending_.erase(found);
    }
    throw;
  }
  return id;
}

void lease_manager::start(claim_id id, wish request, std::optional<time_point> limit) {
  pending& p = pending_.at(id);
  if (limit) p.limit = time_.at(*limit, [this, id] { time_is_up(id); });
  const bool rests = request.claim.grace != duration::zero() || request.at_least != duration::zero();
  if (rests && !port_.can_rest()) {
    p.next_proof = time_.at(time_.now(), [this, id] { finish(id, cannot_rest()); });  // not within this call
    return;
  }
  request.claim.may_rest = rests;
  ask(id, std::move(request));
}

void lease_manager::ask(claim_id id, wish request) {
  store::claim claim = request.claim;
  port_.acquire(std::move(claim), [this, id, request = std::move(request)](store::acquired result) {
    on_acquired(id, request, std::move(result));
  });
}

void lease_manager::finish(claim_id id, taken result) {
  const auto found = pending_.find(id);
  if (found == pending_.end()) return;
  const pending p = std::move(found->second);
  pending_.erase(found);
  report_end(p, result);
  time_.cancel(p.limit);
  time_.cancel(p.next_proof);
  p.done(std::move(result));
}

void lease_manager::report_end(const pending& claim, const taken& result) {
  if (std::holds_alternative<lease_record_ptr>(result)) return;  // reported when it began
  duration waited{};
  if (claim.claim) waited = std::chrono::duration_cast<duration>(time_.now() - claim.began);
  const auto* const reason = std::get_if<failure>(&result);
  const bool failed = reason != nullptr && reason->code != errc::cancelled && reason->code != errc::closed;
  report_refused(journal_, claim.claim.get(), waited, reason, claim.is_withdrawn && !failed);
}

void lease_manager::abandon(claim_id id, taken result) {
  withdraw(id);
  finish(id, std::move(result));
}

void lease_manager::withdraw(claim_id id) {
  const auto found = pending_.find(id);
  if (found == pending_.end()) return;
  found->second.is_withdrawn = true;
  if (const lease_record_ptr lease = std::exchange(found->second.doubtful, nullptr)) {
    give_back(lease, nullptr);
  } else {
    port_.cancel(found->second.owner);
  }
}

void lease_manager::cancel(claim_id id) {
  withdraw(id);  // first: it needs less memory than the message
  finish(id, failure{errc::cancelled, "the claim was cancelled"});
}

void lease_manager::release(const lease_record_ptr& lease, std::function<void(std::error_code)> done) {
  const time_point now = time_.now();
  check_at(lease, now);
  if (lease->state() != lease_record::phase::held) {
    if (done) done(lease->state() == lease_record::phase::lost ? errc::lost : errc::not_owner);
    return;
  }
  let_go(lease, now);
  end(lease, [done = std::move(done)](store::released outcome) {
    if (!done) return;
    switch (outcome) {
      case store::released::done: return done({});
      case store::released::was_gone: return done(errc::lost);
      case store::released::unknown: return done(errc::unknown_outcome);
    }
  });
}

/// From now on it is no lease of its user.
void lease_manager::let_go(const lease_record_ptr& lease, time_point now) {
  lease->set_state(lease_record::phase::releasing);
  if (lease->kept) report_released(journal_, *lease, now);  // otherwise it has never begun
  keeper_.remove(lease);
  by_owner_.erase(lease->hold.owner);
}

/// Ends the hold by the will of its user. Where it came sooner than the lock may be free, the name rests.
void lease_manager::end(const lease_record_ptr& lease, std::function<void(store::released)> done) {
  if (lease->is_unused || lease->rests_until() <= time_.now()) return give_back(lease, std::move(done));
  // For people alone: what becomes of it does not matter. Before the last renewal, so that a caller who has
  // the answer to that finds it.
  if (lease->mode() == mode::exclusive) {
    port_.annotate(lease->hold, as_released(*lease->metadata), ended_by(lease),
                   [](const store::annotated&) {});
  }
  rest(lease, lease->rests_until(), std::move(done));
}

/// The last renewal has a shorter time than the others: one that were carried out after it would lengthen the
/// rest by a whole ttl.
void lease_manager::rest(const lease_record_ptr& lease, time_point until,
                         std::function<void(store::released)> done) {
  const time_point give_up = ended_by(lease);
  keeper_.after_renewals(lease, [this, lease, until, give_up, done = std::move(done)]() mutable {
    port_.rest(lease->hold, until, give_up, [done = std::move(done)](store::released outcome) {
      if (done) done(outcome);
    });
  });
}

void lease_manager::give_back(const lease_record_ptr& lease, std::function<void(store::released)> done) {
  port_.release(lease->hold, ended_by(lease), [done = std::move(done)](store::released outcome) {
    if (done) done(outcome);
  });
}

/// By then a whole ttl has passed at the store since the last renewal that may have reached it.
time_point lease_manager::ended_by(const lease_record_ptr& lease) const {
  return std::max(lease->deadline(), time_.now()) + lease->hold.ttl;
}

void lease_manager::renew(const lease_record_ptr& lease, std::function<void(renewal)> done) {
  check(lease);
  if (lease->state() != lease_record::phase::held) return done(renewal::lost);
  keeper_.renew(lease, std::move(done));
}

void lease_manager::downgrade(const lease_record_ptr& lease,
                              std::function<void(std::optional<failure>)> done) {
  check(lease);
  if (lease->state() != lease_record::phase::held) {
    return done(failure{errc::lost, "the lease ended before it was downgraded"});
  }
  if (lease->mode() == mode::permits) {
    return done(failure{errc::wrong_type, "permits cannot be downgraded"});
  }
  if (lease->mode() == mode::shared && !lease->may_be_exclusive) return done(std::nullopt);
  port_.downgrade(lease->hold, lease->deadline(),
                  [this, lease, done = std::move(done)](store::lowered failed) {
                    // Unknown: readers may hold by now. The lease is at least shared; no more is certain.
                    const bool unknown = failed && failed->code == errc::unknown_outcome;
                    if (!failed || unknown) {
                      lease->set_mode(mode::shared);
                      lease->may_be_exclusive = unknown;
                    }
                    if (failed && failed->code == errc::lost) lose(lease, loss_reason::ended_at_store);
                    done(std::move(failed));
                  });
}

void lease_manager::annotate(const lease_record_ptr& lease, std::shared_ptr<const std::string> metadata,
                             std::function<void(std::optional<failure>)> done) {
  check(lease);
  if (lease->state() != lease_record::phase::held) {
    return done(failure{errc::lost, "the term ended before its value was replaced"});
  }
  port_.annotate(lease->hold, std::move(metadata), lease->deadline(),
                 [this, lease, done = std::move(done)](store::annotated failed) {
                   if (failed && failed->code == errc::lost) lose(lease, loss_reason::ended_at_store);
                   done(std::move(failed));
                 });
}

/// A grant in doubt is a hold at the store, so it can be asked for before its lease begins. The notification
/// does not come again.
void lease_manager::keep_request(const owner_id& owner) {
  for (auto& [id, claim] : pending_) {
    if (claim.doubtful && claim.owner == owner) claim.release_requested = true;
  }
}

/// Somebody may have asked the holder to release. The store has the reason.
void lease_manager::look_for_request(const owner_id& owner) {
  const auto found = by_owner_.find(owner);
  const lease_record_ptr lease = found == by_owner_.end() ? nullptr : found->second.lock();
  if (!lease) return keep_request(owner);
  if (lease->release_request) return;
  if (std::exchange(lease->is_inspected, true)) {
    lease->inspect_again = true;
    return;
  }
  port_.inspect(lease->hold.name, 0, lease->deadline(), [this, lease](const store::inspected& answer) {
    lease->is_inspected = false;
    const bool again = std::exchange(lease->inspect_again, false);
    const auto* const state = std::get_if<std::optional<lock_state>>(&answer);
    if (lease->state() != lease_record::phase::held) return;
    if (state != nullptr && *state) take_request(lease, **state);
    // The answer may be older than the request of the next notification.
    if (again && !lease->release_request) look_for_request(lease->hold.owner);
  });
}

void lease_manager::take_request(const lease_record_ptr& lease, const lock_state& from) {
  for (const claim_state& each : from.holders) {
    if (each.token != lease->hold.token || !each.claimant.release_request) continue;
    lease->release_request = std::make_unique<const std::string>(*each.claimant.release_request);
    if (release_requested_) release_requested_(lease);
    return;
  }
}

void lease_manager::check(const lease_record_ptr& lease) { check_at(lease, time_.now()); }

void lease_manager::check_at(const lease_record_ptr& lease, time_point now) {
  if (lease->state() == lease_record::phase::held && now >= lease->deadline()) {
    lose(lease, deadline_reason(*lease));
  }
}

void lease_manager::lose(const lease_record_ptr& lease, loss_reason reason) {
  if (lease->state() != lease_record::phase::held) return;
  lease->loss = reason;  // before the state: any thread may read it once the state is lost
  lease->reason = reason == loss_reason::client_closed ? errc::closed : errc::lost;
  lease->set_state(lease_record::phase::lost);
  report_lost(journal_, *lease, time_.now());
  keeper_.remove(lease);
  by_owner_.erase(lease->hold.owner);
  lost_(lease);
}

void lease_manager::after_loss(const lease_record_ptr& lease) {
  // A late renewal may have reached the store. Others should not wait for the rest of its ttl, but for the
  // grace alone.
  const time_point rests_until = lease->deadline() + lease->margin + lease->grace;
  const bool rests = lease->grace != duration::zero() && !lease->is_unused;
  if (!rests || lease->loss == loss_reason::ended_at_store || rests_until <= time_.now()) {
    return give_back(lease, nullptr);
  }
  rest(lease, rests_until, nullptr);
}

void lease_manager::close() {
  while (!pending_.empty()) abandon(pending_.begin()->first, failure{errc::closed, "the client was closed"});
  for (const lease_record_ptr& lease : keeper_.all()) {
    lose(lease, loss_reason::client_closed);
    end(lease, nullptr);
  }
}

}  // namespace holdfast::lease_core
