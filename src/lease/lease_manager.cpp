// SPDX-License-Identifier: Apache-2.0
#include "lease/lease_manager.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "base/metadata.hpp"
#include "lease/refusal.hpp"
#include "lease/reports.hpp"

namespace holdfast::lease_core {

using store::time_point;

namespace {

failure cannot_rest() {
  return {errc::invalid_argument,
          "a claim ends with its session on this store, so the name cannot rest after it: claim it without "
          "grace and at_least, or use a store that keeps a ttl of each claim"};
}

failure others_hold(const store::claim& c) {
  return {errc::timeout,
          c.election ? "others led for the whole wait limit" : "others held it for the whole wait limit"};
}

failure not_held(const lease_record& lease) {
  const bool is_lost = lease.state() == lease_record::phase::lost;
  return {errc::lost, is_lost ? text_of(lease.loss) : "it was released already"};
}

/// The holder has released, and the claim is still there.
std::shared_ptr<const std::string> as_released(const std::string& metadata) {
  claimant former = from_metadata(metadata);
  former.released = true;
  return std::make_shared<const std::string>(to_metadata(former));
}

}  // namespace

/// A claim, from its start to its lease. When it ends, by its answer or withdrawn, nothing refers to it any
/// more: neither the timer nor the port.
class lease_manager::claiming final : public operation {
 public:
  claiming(lease_manager& of, op_id id, store::claim_ptr&& claim, store::handler<taken>&& done)
      : of_{of}, id_{id}, claim_{std::move(claim)}, done_{std::move(done)}, began_{of.time_.now()} {}

  void start(std::optional<time_point> limit) {
    if (store::may_rest(*claim_) && of_.port_.session_until()) {
      timer_ = of_.time_.at(began_, [this] { end(cannot_rest()); });  // not within the call that starts it
      return;
    }
    if (limit) timer_ = of_.time_.at(*limit, [this] { time_is_up(); });
    of_.port_.acquire(claim_, [this](store::acquired&& result) { on_acquired(result); });
  }

  void cancel(failure reason) override { withdraw(std::move(reason)); }

 private:
  void time_is_up() {
    const auto self = of_.operations_.remove(id_);  // the answer to a request that is taken back ends it, too
    auto error = of_.port_.error_now(claim_->owner);
    if (done_) withdraw(error ? std::move(*error) : others_hold(*claim_));
  }

  void withdraw(failure reason) {
    of_.port_.cancel(claim_->owner);
    is_withdrawn_ = true;
    end(std::move(reason));
  }

  void on_acquired(store::acquired& result) {
    if (auto* const failed = std::get_if<failure>(&result)) return end(std::move(*failed));
    if (const auto* const no = std::get_if<store::refused>(&result)) {
      is_unasked_ = no->is_unasked;
      return end(others_hold(*claim_));
    }
    end(of_.begin(*claim_, std::get<store::granted>(result), began_));
  }

  [[nodiscard]] duration waited() const {
    return std::chrono::duration_cast<duration>(of_.time_.now() - began_);
  }

  void end(taken&& result) {
    if (!done_) return;
    const auto done = std::exchange(done_, nullptr);
    const auto self = of_.operations_.remove(id_);  // null: whoever cancels it has it
    if (timer_ != 0) of_.time_.cancel(std::exchange(timer_, 0));
    if (const auto* const reason = std::get_if<failure>(&result); reason != nullptr && !is_unasked_) {
      report_unsuccessful(of_.journal_, *claim_, waited(), *reason, is_withdrawn_);
    }
    done(std::move(result));
  }

  lease_manager& of_;
  const op_id id_;
  const store::claim_ptr claim_;
  store::handler<taken> done_;
  const time_point began_;
  store::scheduler::timer timer_ = 0;
  bool is_withdrawn_ = false;
  bool is_unasked_ = false;
};

lease_manager::lease_manager(store::scheduler& time, store::port& port, operations& all, on_loss lost)
    : time_{time},
      port_{port},
      operations_{all},
      lost_{std::move(lost)},
      keeper_{time, port,
              [this](const lease_record_ptr& lease, loss_reason reason) { lose(lease, reason); }} {
  port_.on_revoked([this](const owner_id& owner, fencing_token token) {
    const auto lease = find(owner);
    // Any client may have sent the notification, so the store is asked.
    if (lease && (!token || token == lease->hold.token)) keeper_.confirm_end(lease);
  });
  port_.on_gap([this] { keeper_.confirm_notified(); });
  port_.on_release_requested([this](const owner_id& owner) { look_for_request(owner); });
}

lease_record_ptr lease_manager::find(const owner_id& owner) const {
  const auto found = by_owner_.find(owner);
  return found == by_owner_.end() ? nullptr : found->second.lock();
}

op_id lease_manager::acquire(store::claim_ptr claim, std::optional<time_point> limit,
                             store::handler<taken> done) {
  const op_id id = operations_.next_id();
  const auto started = std::make_shared<claiming>(*this, id, std::move(claim), std::move(done));
  operations_.add(id, started);
  started->start(limit);
  return id;
}

lease_record_ptr lease_manager::begin(const store::claim& claim, const store::granted& grant,
                                      time_point began) {
  auto lease = std::make_shared<lease_record>(claim, grant.token);
  lease->client = client_;
  lease->granted_at = time_.now();
  if (claim.at_least != duration::zero() || is_observed()) lease->metadata = claim.metadata;
  by_owner_.emplace(claim.owner, lease);
  keeper_.add(lease, grant);
  report_granted(journal_, *lease, std::chrono::duration_cast<duration>(lease->granted_at - began));
  return lease;
}

void lease_manager::release(const lease_record_ptr& lease, store::handler<std::error_code> done) {
  const time_point now = time_.now();
  check(lease, now);
  if (lease->state() != lease_record::phase::held) {
    if (done) done(lease->state() == lease_record::phase::lost ? errc::lost : errc::not_owner);
    return;
  }
  lease->set_state(lease_record::phase::releasing);
  report_released(journal_, *lease, now);
  forget(lease);
  if (!done) return end_for_user(lease, now, nullptr);
  end_for_user(lease, now, [done = std::move(done)](store::released outcome) {
    switch (outcome) {
      case store::released::done: return done({});
      case store::released::was_gone: return done(errc::lost);
      case store::released::unknown: return done(errc::unknown_outcome);
    }
  });
}

/// From now on it is no lease of its user.
void lease_manager::forget(const lease_record_ptr& lease) {
  keeper_.remove(lease);
  by_owner_.erase(lease->hold.owner);
}

/// Ends the hold by the will of its user. If that comes sooner than the lock may be free, the name rests.
void lease_manager::end_for_user(const lease_record_ptr& lease, time_point now,
                                 store::handler<store::released>&& done) {
  const time_point until = lease->is_unused ? time_point{} : lease->rests_until();
  if (until > now && lease->mode() == mode::exclusive) {
    // For people alone: what becomes of it does not matter. Before the last renewal, so that a caller who has
    // the answer to that finds it.
    port_.annotate(lease->hold, as_released(*lease->metadata),
                   std::max(lease->deadline(), now) + lease->hold.ttl, [](const store::annotated&) {});
  }
  end_at(lease, until, now, std::move(done));
}

/// Ends the hold at the store; at once if that time has passed. A last renewal has a shorter time than the
/// others, and an ordinary one that was carried out later would extend the hold by a whole ttl.
void lease_manager::end_at(const lease_record_ptr& lease, time_point until, time_point now,
                           store::handler<store::released>&& done) {
  // By then a whole ttl has passed at the store since the last renewal that may have reached it.
  const time_point give_up = std::max(lease->deadline(), now) + lease->hold.ttl;
  if (until <= now) return port_.release(lease->hold, give_up, std::move(done));
  keeper_.after_renewals(lease, [this, lease, until, give_up, done = std::move(done)] {
    port_.expire_at(lease->hold, until, give_up, done);
  });
}

void lease_manager::renew(const lease_record_ptr& lease, store::handler<renewal> done) {
  check(lease);
  if (lease->state() != lease_record::phase::held) return done(renewal::lost);
  keeper_.renew(lease, std::move(done));
}

void lease_manager::downgrade(const lease_record_ptr& lease, store::handler<std::optional<failure>> done) {
  check(lease);
  if (lease->state() != lease_record::phase::held) return done(not_held(*lease));
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
                             store::handler<std::optional<failure>> done) {
  check(lease);
  if (lease->state() != lease_record::phase::held) return done(not_held(*lease));
  port_.annotate(lease->hold, std::move(metadata), lease->deadline(),
                 [this, lease, done = std::move(done)](store::annotated failed) {
                   if (failed && failed->code == errc::lost) lose(lease, loss_reason::ended_at_store);
                   done(std::move(failed));
                 });
}

/// Somebody may have asked the holder to release. The store has the reason.
void lease_manager::look_for_request(const owner_id& owner) {
  const auto lease = find(owner);
  if (!lease || lease->release_request || !lease->inspection.start()) return;
  port_.inspect(lease->hold.name, 0, lease->deadline(), [this, lease](const store::inspected& answer) {
    const bool again = lease->inspection.finish();
    const auto* const state = std::get_if<std::optional<lock_state>>(&answer);
    if (lease->state() != lease_record::phase::held) return;
    if (state != nullptr && *state) take_request(lease, **state);
    if (again) look_for_request(lease->hold.owner);
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

void lease_manager::check(const lease_record_ptr& lease) { check(lease, time_.now()); }

void lease_manager::check(const lease_record_ptr& lease, time_point now) {
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
  forget(lease);
  lost_(lease);
}

void lease_manager::after_loss(const lease_record_ptr& lease) {
  // A late renewal may have reached the store. Others should not wait for the rest of its ttl, but for the
  // grace alone.
  const bool rests =
      lease->grace != duration::zero() && !lease->is_unused && lease->loss != loss_reason::ended_at_store;
  end_at(lease, rests ? lease->deadline() + lease->margin + lease->grace : time_point{}, time_.now(),
         nullptr);
}

void lease_manager::close() {
  for (const lease_record_ptr& lease : keeper_.all()) {
    lose(lease, loss_reason::client_closed);
    end_for_user(lease, time_.now(), nullptr);
  }
}

}  // namespace holdfast::lease_core
