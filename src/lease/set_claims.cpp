#include "lease/set_claims.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "base/exceptions.hpp"
#include "holdfast/error.hpp"

namespace holdfast::lease_core {

namespace {

constexpr int most_vain_rounds = 3;

/// Whether a claim that waits may succeed where a try failed: it is retried, as a mutex's is, until the retry
/// policy ends it, and waits for a server that grants nothing yet.
bool may_pass(const failure& reason) {
  return reason.code == errc::unavailable || reason.code == errc::unknown_outcome ||
         reason.code == errc::exhausted || reason.code == errc::lost;
}

set_failure lost_too_soon(std::size_t name) {
  return {name,
          {errc::lost,
           "it was lost while the others were acquired: that took longer than its ttl lasts, or it was ended "
           "at the store; ask for a longer ttl"}};
}

}  // namespace

set_claims::~set_claims() {
  for (auto& [id, waiting] : sets_) {
    time_.cancel(waiting.next_look);
    time_.cancel(waiting.last_moment);
    time_.cancel(waiting.next_renewal);
  }
}

set_claims::set_id set_claims::acquire(std::vector<wish> wishes, std::optional<store::time_point> limit,
                                       std::function<void(set_taken)> done) {
  set begun;
  begun.held.resize(wishes.size());
  begun.claims.resize(wishes.size());
  begun.wishes = std::move(wishes);
  begun.limit = limit;
  begun.done = std::move(done);
  begun.is_fixed = !begun.wishes.front().renews && begun.wishes.front().claim.wait;
  for (wish& each : begun.wishes) each.renews = each.renews || each.claim.wait;
  const set_id id = ++last_;
  sets_.emplace(id, std::move(begun));
  run(id, [&] { try_from(id, 0); });
  return id;
}

/// Where there is no memory for a step, the set ends, and gives back what it holds.
template <class Step>
void set_claims::run(set_id id, Step step) {
  try {
    step();
  } catch (const std::exception& e) {
    if (!sets_.contains(id)) throw;  // its end could not be told
    finish(id, set_failure{std::nullopt, {errc::exhausted, e.what()}});
  }
}

/// Asks for the names from `first` on, without waiting in a queue, and for no longer than the limit. With
/// nothing after it, the last one is waited for at once.
void set_claims::try_from(set_id id, std::size_t first) {
  set& asking = sets_.at(id);
  const std::size_t count = asking.wishes.size();
  if (first == count) return go_on(id);
  if (first + 1 == count && asking.wishes[first].claim.wait) {
    const auto missing = first_missing(asking);
    if (missing && missing->first == first) return wait_for(id, first);
  }
  asking.tried_at = time_.now();
  asking.refused = false;
  asking.answers_due = count - first;
  for (std::size_t name = first; name < count; ++name) {
    try {
      wish attempt = asking.wishes[name];
      attempt.claim.owner = time_.new_owner();
      attempt.claim.wait = false;
      asking.claims[name] = leases_.acquire(std::move(attempt), asking.limit, [this, id, name](taken result) {
        run(id, [&] { on_tried(id, name, std::move(result)); });
      });
    } catch (const std::exception& e) {  // out of memory
      return finish(id, set_failure{name, {errc::exhausted, e.what()}});
    }
  }
}

void set_claims::on_tried(set_id id, std::size_t name, taken result) {
  const auto found = sets_.find(id);
  if (found == sets_.end()) return;  // finish() has cancelled it
  set& asking = found->second;
  asking.claims[name] = 0;
  if (auto* const lease = std::get_if<lease_record_ptr>(&result)) keep(id, name, std::move(*lease));
  if (auto* const failed = std::get_if<failure>(&result)) {
    // One that does not pass is the answer, whatever else has failed.
    if (!asking.failed || may_pass(asking.failed->reason)) {
      asking.failed = set_failure{name, std::move(*failed)};
    }
  }
  asking.refused = asking.refused || std::holds_alternative<not_had>(result);
  if (--asking.answers_due != 0) return;
  const bool waits = asking.wishes.front().claim.wait;
  if (asking.failed && !(waits && may_pass(asking.failed->reason))) {
    return finish(id, std::move(*asking.failed));
  }
  const auto missing = first_missing(asking);
  if (!missing || missing->second != absence::lost) {
    asking.vain_rounds = 0;
  } else if (waits ? ++asking.vain_rounds == most_vain_rounds : !asking.refused) {
    return finish(id, lost_too_soon(missing->first));
  }
  go_on(id);
}

/// Ends the claim where all names are held, else waits for the first that is not.
void set_claims::go_on(set_id id) {
  set& asking = sets_.at(id);
  const auto missing = first_missing(asking);
  // The losses that it finds out by itself need no second look.
  time_.cancel(std::exchange(asking.next_look, 0));
  if (!missing) return conclude(id);
  time_.cancel(std::exchange(asking.last_moment, 0));
  give_back(asking, missing->first + 1);
  const bool over = asking.limit && time_.now() >= *asking.limit;
  // The store's error says more than that others held a name.
  if (over && asking.failed) return finish(id, std::move(*asking.failed));
  if (over || !asking.wishes[missing->first].claim.wait) return finish(id, not_had{});
  wait_for(id, missing->first);
}

/// After tries that the store left unanswered the wait has what they have left of the retry limit.
void set_claims::wait_for(set_id id, std::size_t name) {
  set& asking = sets_.at(id);
  wish claim = asking.wishes[name];
  claim.claim.owner = time_.new_owner();
  if (auto failed = std::exchange(asking.failed, std::nullopt)) {
    const duration limit = claim.claim.retry.limit();
    const auto spent = std::chrono::duration_cast<duration>(time_.now() - asking.tried_at);
    const duration left = limit - std::min(limit, spent);
    if (left == duration::zero() && limit != left) return finish(id, std::move(*failed));
    claim.claim.retry.limit(left);
  }
  asking.waiting = name;
  try {
    asking.claims[name] = leases_.acquire(std::move(claim), asking.limit, [this, id, name](taken result) {
      run(id, [&] { on_waited(id, name, std::move(result)); });
    });
  } catch (const std::exception& e) {  // out of memory
    finish(id, set_failure{name, {errc::exhausted, e.what()}});
  }
}

void set_claims::on_waited(set_id id, std::size_t name, taken result) {
  const auto found = sets_.find(id);
  // Not where the wait was ended by cancel() or look_again().
  if (found == sets_.end() || found->second.waiting != name) return;
  set& asking = found->second;
  asking.waiting.reset();
  asking.claims[name] = 0;
  asking.has_waited = asking.has_waited || name != 0;
  if (auto* const failed = std::get_if<failure>(&result)) {
    return finish(id, set_failure{name, std::move(*failed)});
  }
  if (std::holds_alternative<not_had>(result)) return finish(id, not_had{});
  keep(id, name, std::move(std::get<lease_record_ptr>(result)));
  try_from(id, name + 1);
}

/// All names are held. A user who renews the leases gets none that is as old as the wait; unless the limit is
/// over before the store has renewed them.
void set_claims::conclude(set_id id) {
  set& asking = sets_.at(id);
  if (!asking.is_fixed || !asking.has_waited) return hand_over(id);
  if (asking.limit && asking.last_moment == 0) {
    asking.last_moment = time_.at(*asking.limit, [this, id] {
      set& late = sets_.at(id);
      late.last_moment = 0;
      if (first_missing(late)) return go_on(id);
      hand_over(id);
    });
  }
  asking.answers_due = asking.held.size();
  asking.is_unsure = false;
  const std::vector<lease_record_ptr> all = asking.held;  // the last answer may end the set
  for (const lease_record_ptr& each : all) {
    leases_.renew(each, [this, id](renewal outcome) { run(id, [&] { on_renewed(id, outcome); }); });
  }
}

void set_claims::on_renewed(set_id id, renewal outcome) {
  const auto found = sets_.find(id);
  if (found == sets_.end()) return;  // cancelled meanwhile
  set& asking = found->second;
  asking.is_unsure = asking.is_unsure || outcome != renewal::renewed;
  if (--asking.answers_due != 0) return;
  if (first_missing(asking)) return go_on(id);
  if (!asking.is_unsure) return hand_over(id);
  // A store may refuse at once, again and again.
  const auto again = time_.now() + asking.pause.next(time_.random());
  asking.next_renewal = time_.at(again, [this, id] {
    sets_.at(id).next_renewal = 0;
    go_on(id);
  });
}

void set_claims::hand_over(set_id id) {
  set& asking = sets_.at(id);
  if (asking.is_fixed) {
    for (const lease_record_ptr& each : asking.held) leases_.renew_no_more(each);
  }
  finish(id, std::move(asking.held));
}

void set_claims::lost(lease_record& lease) {
  const auto found = set_of_.find(&lease);
  if (found == set_of_.end()) return;
  lease.is_unused = true;
  // Not within this call: the keeper is about to go on with other leases, some of which the set may give
  // back.
  const set_id id = found->second;
  const auto asking = sets_.find(id);
  if (asking == sets_.end()) return;  // it has ended, and is about to give the others back
  time_.cancel(asking->second.next_look);
  asking->second.next_look = time_.at(time_.now(), [this, id] { look_again(id); });
}

void set_claims::look_again(set_id id) {
  set& asking = sets_.at(id);
  asking.next_look = 0;
  if (!asking.waiting) return;  // it looks at all of them when the answers that are due are here
  const std::size_t name = *std::exchange(asking.waiting, std::nullopt);
  leases_.cancel(std::exchange(asking.claims[name], 0));
  go_on(id);
}

void set_claims::cancel(set_id id) {
  if (!sets_.contains(id)) return;
  finish(id, set_failure{std::nullopt, {errc::cancelled, "the claim was cancelled"}});
}

void set_claims::close() {
  while (!sets_.empty()) {
    finish(sets_.begin()->first, set_failure{std::nullopt, {errc::closed, "the client was closed"}});
  }
}

void set_claims::keep(set_id id, std::size_t name, lease_record_ptr lease) {
  const lease_record* const held = lease.get();
  sets_.at(id).held[name] = std::move(lease);  // first: the set knows what to give back
  set_of_[held] = id;
}

void set_claims::give_back(set& of, std::size_t from) {
  for (std::size_t name = from; name < of.held.size(); ++name) {
    const lease_record_ptr lease = std::exchange(of.held[name], nullptr);
    if (!lease) continue;
    set_of_.erase(lease.get());
    lease->is_unused = true;
    contain_exceptions([&] { leases_.release(lease, nullptr); });  // the others have to end, too
  }
}

/// The first name that is not held, or not any more; with that, those after it are not held, either. Empty:
/// all are held.
std::optional<std::pair<std::size_t, set_claims::absence>> set_claims::first_missing(set& of) {
  for (std::size_t name = 0; name < of.held.size(); ++name) {
    if (!of.held[name]) return {{name, absence::not_granted}};
    leases_.check(of.held[name]);
    if (of.held[name]->state() == lease_record::phase::held) continue;
    give_back(of, name);  // which does nothing for the one that is lost
    return {{name, absence::lost}};
  }
  return std::nullopt;
}

/// Answers. Without the leases as the answer, everything is given back first.
void set_claims::finish(set_id id, set_taken result) {
  const auto found = sets_.find(id);
  set ended = std::move(found->second);
  sets_.erase(found);
  time_.cancel(ended.next_look);
  time_.cancel(ended.last_moment);
  time_.cancel(ended.next_renewal);
  if (const auto* const all = std::get_if<std::vector<lease_record_ptr>>(&result)) {
    for (const lease_record_ptr& lease : *all) set_of_.erase(lease.get());
  } else {
    for (const lease_manager::claim_id claim : ended.claims) {
      if (claim != 0) contain_exceptions([&] { leases_.cancel(claim); });
    }
    give_back(ended, 0);
  }
  ended.done(std::move(result));
}

}  // namespace holdfast::lease_core
