// SPDX-License-Identifier: Apache-2.0
#include "lease/set_claims.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <variant>

#include "core/backoff.hpp"
#include "holdfast/error.hpp"

namespace holdfast::lease_core {

namespace {

constexpr int most_vain_rounds = 3;

/// Whether a claim that waits may succeed although a try failed: it is retried, as a mutex's is, until the
/// retry policy ends it, and waits for a server that grants nothing yet.
bool may_pass(const failure& reason) {
  return reason.code == errc::unavailable || reason.code == errc::unknown_outcome ||
         reason.code == errc::exhausted || reason.code == errc::lost;
}

}  // namespace

/// One set, from its start until it has all of its names.
class set_claims::set final : public operation, public std::enable_shared_from_this<set> {
 public:
  set(set_claims& of, op_id id, std::vector<store::claim> claims, std::optional<store::time_point> limit,
      store::handler<set_taken> done)
      : of_{of},
        id_{id},
        claims_{std::move(claims)},
        limit_{limit},
        done_{std::move(done)},
        held_(claims_.size()),
        asking_(claims_.size()),
        waits_{claims_.front().wait},
        is_fixed_{!claims_.front().renews && waits_} {
    for (store::claim& each : claims_) each.renews = each.renews || waits_;
  }

  void try_from(std::size_t first);
  void cancel(failure reason) override { finish(std::move(reason)); }
  /// One of its leases has been lost.
  void on_loss();

 private:
  /// Why a name is not held.
  enum class absence : std::uint8_t { not_granted, lost };

  op_id acquire(store::claim claim, store::handler<taken> done);
  void on_tried(std::size_t name, taken result);
  void go_on();
  void wait_for(std::size_t name);
  void on_waited(std::size_t name, taken result);
  void look_again();
  void conclude();
  void on_last_moment();
  void on_renewed(renewal outcome);
  void hand_over();
  void keep(std::size_t name, lease_record_ptr lease);
  void give_back(std::size_t from);
  void finish(set_taken result);
  [[nodiscard]] std::optional<std::pair<std::size_t, absence>> first_missing();
  [[nodiscard]] failure failure_of(std::size_t name, failure reason) const;
  [[nodiscard]] failure others_hold() const;

  /// Calls a member function when that time has come, if the set is still under way then.
  store::scheduler::timer at(store::time_point when, void (set::*step)()) {
    return of_.time_.at(when, [weak = weak_from_this(), step] {
      const auto self = weak.lock();
      if (self && self->done_) ((*self).*step)();
    });
  }

  set_claims& of_;
  const op_id id_;
  std::vector<store::claim> claims_;
  const std::optional<store::time_point> limit_;
  store::handler<set_taken> done_;      // empty: it has ended
  std::vector<lease_record_ptr> held_;  // null: not held
  std::vector<op_id> asking_;           // zero: not asked for
  const bool waits_;
  const bool is_fixed_;                 // the user renews the leases
  bool has_waited_ = false;             // while it held others
  std::size_t answers_due_ = 0;         // of a round of tries, or of the last renewals
  std::optional<std::size_t> waiting_;  // in the queue of that name
  /// A round: a try of all names that are missing, or the last renewals.
  struct round {
    store::time_point began{};
    std::optional<failure> failed{};  // the first that does not pass, or else the first
    bool is_refused = false;          // others hold a name
    bool is_unsure = false;           // a last renewal was not confirmed
  } round_;
  int vain_rounds_ = 0;  // one after the other, at whose end a name had been lost
  store::scheduler::timer next_look_ = 0;
  store::scheduler::timer last_moment_ = 0;   // for the last renewals
  store::scheduler::timer next_renewal_ = 0;  // after one that was not confirmed
  store::backoff pause_{retry_policy{}};      // before that
};

op_id set_claims::acquire(std::vector<store::claim> claims, std::optional<store::time_point> limit,
                          store::handler<set_taken> done) {
  const op_id id = operations_.next_id();
  const auto started = std::make_shared<set>(*this, id, std::move(claims), limit, std::move(done));
  operations_.add(id, started);
  started->try_from(0);
  return id;
}

void set_claims::lost(lease_record& lease) {
  const auto found = set_of_.find(&lease);
  if (found == set_of_.end()) return;
  lease.is_unused = true;
  if (const auto owner = found->second.lock()) owner->on_loss();
}

/// Claims a name anew.
op_id set_claims::set::acquire(store::claim claim, store::handler<taken> done) {
  claim.owner = of_.time_.new_owner();
  return of_.leases_.acquire(std::make_shared<const store::claim>(std::move(claim)), limit_, std::move(done));
}

/// Asks for the names from `first` on, without waiting in a queue, and for no longer than the limit. With
/// nothing after it, the last one is waited for at once.
void set_claims::set::try_from(std::size_t first) {
  const std::size_t count = claims_.size();
  if (first == count) return go_on();
  if (first + 1 == count && waits_) {
    const auto missing = first_missing();
    if (missing && missing->first == first) return wait_for(first);
  }
  round_ = {.began = of_.time_.now()};
  answers_due_ = count - first;
  of_.leases_.together([this, first] {
    for (std::size_t name = first; name < claims_.size(); ++name) {
      store::claim attempt = claims_[name];
      attempt.wait = false;
      asking_[name] = acquire(std::move(attempt), [self = shared_from_this(), name](taken result) {
        self->on_tried(name, std::move(result));
      });
    }
  });
}

void set_claims::set::on_tried(std::size_t name, taken result) {
  if (!done_) return;  // finish() has cancelled it
  asking_[name] = 0;
  if (auto* const lease = std::get_if<lease_record_ptr>(&result)) {
    keep(name, std::move(*lease));
  } else if (auto& reason = std::get<failure>(result); is_refusal(reason)) {
    round_.is_refused = true;
  } else if (!round_.failed || may_pass(*round_.failed)) {
    // One that does not pass is the answer, whatever else has failed.
    round_.failed = failure_of(name, std::move(reason));
  }
  if (--answers_due_ != 0) return;
  if (round_.failed && !(waits_ && may_pass(*round_.failed))) return finish(std::move(*round_.failed));
  const auto missing = first_missing();
  if (!missing || missing->second != absence::lost) {
    vain_rounds_ = 0;
  } else if (waits_ ? ++vain_rounds_ == most_vain_rounds : !round_.is_refused) {
    return finish(failure_of(missing->first,
                             {errc::lost,
                              "it was lost while the others were acquired: that took longer than its ttl "
                              "lasts, or it was ended at the store; ask for a longer ttl"}));
  }
  go_on();
}

/// Ends the claim if all names are held, else waits for the first that is not.
void set_claims::set::go_on() {
  const auto missing = first_missing();
  // The losses that it finds out by itself need no second look.
  of_.time_.cancel(std::exchange(next_look_, 0));
  if (!missing) return conclude();
  of_.time_.cancel(std::exchange(last_moment_, 0));
  give_back(missing->first + 1);
  const bool over = limit_ && of_.time_.now() >= *limit_;
  // The store's error says more than that others held a name.
  if (over && round_.failed) return finish(std::move(*round_.failed));
  if (over || !waits_) return finish(others_hold());
  wait_for(missing->first);
}

/// After tries that the store left unanswered the wait has what they have left of the retry limit.
void set_claims::set::wait_for(std::size_t name) {
  store::claim claim = claims_[name];
  if (auto failed = std::exchange(round_.failed, std::nullopt)) {
    const duration limit = claim.retry.limit();
    const auto spent = std::chrono::duration_cast<duration>(of_.time_.now() - round_.began);
    const duration left = limit - std::min(limit, spent);
    if (left == duration::zero() && limit != left) return finish(std::move(*failed));
    claim.retry.limit(left);
  }
  waiting_ = name;
  asking_[name] = acquire(std::move(claim), [self = shared_from_this(), name](taken result) {
    self->on_waited(name, std::move(result));
  });
}

void set_claims::set::on_waited(std::size_t name, taken result) {
  if (!done_ || waiting_ != name) return;  // the wait was ended by cancel() or look_again()
  waiting_.reset();
  asking_[name] = 0;
  has_waited_ = has_waited_ || name != 0;
  if (auto* const reason = std::get_if<failure>(&result)) {
    return finish(is_refusal(*reason) ? others_hold() : failure_of(name, std::move(*reason)));
  }
  keep(name, std::move(std::get<lease_record_ptr>(result)));
  try_from(name + 1);
}

/// All names are held. A user who renews the leases gets none that is as old as the wait; unless the limit is
/// over before the store has renewed them.
void set_claims::set::conclude() {
  if (!is_fixed_ || !has_waited_) return hand_over();
  if (limit_ && last_moment_ == 0) last_moment_ = at(*limit_, &set::on_last_moment);
  answers_due_ = held_.size();
  round_.is_unsure = false;
  const std::vector<lease_record_ptr> all = held_;  // the last answer may end the set
  for (const lease_record_ptr& each : all) {
    of_.leases_.renew(each, [self = shared_from_this()](renewal outcome) { self->on_renewed(outcome); });
  }
}

void set_claims::set::on_last_moment() {
  last_moment_ = 0;
  if (first_missing()) return go_on();
  hand_over();
}

void set_claims::set::on_renewed(renewal outcome) {
  if (!done_) return;  // cancelled meanwhile
  round_.is_unsure = round_.is_unsure || outcome != renewal::renewed;
  if (--answers_due_ != 0) return;
  if (first_missing()) return go_on();
  if (!round_.is_unsure) return hand_over();
  // A store may refuse at once, again and again.
  next_renewal_ = at(of_.time_.now() + pause_.next(of_.time_.random()), &set::go_on);
}

void set_claims::set::hand_over() {
  if (is_fixed_) {
    for (const lease_record_ptr& lease : held_) of_.leases_.renew_no_more(lease);
  }
  finish(std::move(held_));
}

/// Not within this call: the keeper is about to go on with other leases, some of which the set may give back.
void set_claims::set::on_loss() {
  if (!done_) return;  // it has ended, and is about to give the others back
  of_.time_.cancel(next_look_);
  next_look_ = at(of_.time_.now(), &set::look_again);
}

void set_claims::set::look_again() {
  next_look_ = 0;
  if (!waiting_) return;  // it looks at all of them when the answers that are due are here
  const std::size_t name = *std::exchange(waiting_, std::nullopt);
  of_.operations_.cancel(std::exchange(asking_[name], 0), {errc::cancelled, "a name before it was lost"});
  go_on();
}

void set_claims::set::keep(std::size_t name, lease_record_ptr lease) {
  of_.set_of_[lease.get()] = weak_from_this();
  held_[name] = std::move(lease);
}

void set_claims::set::give_back(std::size_t from) {
  of_.leases_.together([this, from] {
    for (std::size_t name = from; name < held_.size(); ++name) {
      const lease_record_ptr lease = std::exchange(held_[name], nullptr);
      if (!lease) continue;
      of_.set_of_.erase(lease.get());
      lease->is_unused = true;
      of_.leases_.release(lease, nullptr);
    }
  });
}

/// The first name that is not held, or not any more; with that, those after it are not held, either. Empty:
/// all are held.
std::optional<std::pair<std::size_t, set_claims::set::absence>> set_claims::set::first_missing() {
  for (std::size_t name = 0; name < held_.size(); ++name) {
    if (!held_[name]) return {{name, absence::not_granted}};
    of_.leases_.check(held_[name]);
    if (held_[name]->state() == lease_record::phase::held) continue;
    give_back(name);  // which does nothing for the one that is lost
    return {{name, absence::lost}};
  }
  return std::nullopt;
}

/// Answers. Without the leases as the answer, everything is given back first.
void set_claims::set::finish(set_taken result) {
  const auto self = shared_from_this();
  const auto done = std::exchange(done_, nullptr);
  of_.operations_.remove(id_);
  for (const auto timer : {next_look_, last_moment_, next_renewal_}) of_.time_.cancel(timer);
  if (const auto* const all = std::get_if<std::vector<lease_record_ptr>>(&result)) {
    for (const lease_record_ptr& lease : *all) of_.set_of_.erase(lease.get());
  } else {
    for (const op_id claim : asking_) of_.operations_.cancel(claim, {errc::cancelled, "another name failed"});
    give_back(0);
  }
  done(std::move(result));
}

/// A message that says which of several names it is about.
failure set_claims::set::failure_of(std::size_t name, failure reason) const {
  if (claims_.size() > 1 && reason.code != errc::closed) {
    reason.message = "'" + claims_[name].name + "': " + reason.message;
  }
  return reason;
}

failure set_claims::set::others_hold() const {
  return {errc::timeout, claims_.size() == 1 ? "others held it for the whole wait limit"
                                             : "others held one of them for the whole wait limit"};
}

}  // namespace holdfast::lease_core
