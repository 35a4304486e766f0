#include "lease/rendezvous.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "base/metadata.hpp"
#include "core/machine.hpp"
#include "holdfast/error.hpp"

namespace holdfast::lease_core {

using step = store::mark::kind;

namespace {

/// A lost notification delays a call by at most that.
constexpr duration longest_pause = std::chrono::seconds{1};
/// The answer to the last request gets at least this time, also where the limit is shorter.
constexpr duration least_patience = std::chrono::seconds{1};

failure lost_arrival() {
  return {errc::lost,
          "the arrival of this party was lost, so the others may miss it; the next call arrives anew"};
}

bool is_of_another_kind(const rendezvous& at, const std::optional<lock_state>& state) {
  return state && !state->holders.empty() && state->capacity != at.terms.claim.capacity;
}

bool is_held(const lease_record_ptr& lease) { return lease && lease->state() == lease_record::phase::held; }

}  // namespace

rendezvous_calls::~rendezvous_calls() {
  for (auto& [id, each] : calls_) time_.cancel(each.limit);
}

rendezvous_calls::call_id rendezvous_calls::start(const rendezvous_ptr& at, rendezvous_call call,
                                                  std::function<void(arrived)> done) {
  const call_id id = ++last_;
  if (auto refused = port_.latch_refusal()) {
    done(std::move(*refused));
    return id;
  }
  if (at->busy) {
    done(failure{errc::invalid_argument,
                 "a call of this object is under way; each party has an object of its own"});
    return id;
  }
  at->busy = at->kind == rendezvous::type::barrier;
  operation& begun = calls_[id];
  begun.at = at;
  begun.call = call;
  begun.done = std::move(done);
  begun.seen.expected = at->expected;
  if (call.until) begun.limit = time_.at(*call.until, [this, id] { time_is_up(id); });
  go_on(id);
  return id;
}

void rendezvous_calls::go_on(call_id id) {
  const operation& call = calls_.at(id);
  rendezvous& at = *call.at;
  if (at.kind == rendezvous::type::latch) return call.call.count > 0 ? claim(id, step::counted) : look(id);
  if (!at.has_joined) return look(id);
  if (!at.has_arrived) return claim(id, step::arrived);
  if (is_held(at.place)) return look(id);
  at.has_arrived = false;
  at.has_joined = false;
  end(id, lost_arrival());
}

void rendezvous_calls::claim(call_id id, step next) {
  operation& call = calls_.at(id);
  rendezvous& at = *call.at;
  store::mark mark{next, at.phase, at.party};
  wish request = at.terms;
  request.claim.owner = owner_id::random();
  request.stays = next != step::arrived;
  if (next == step::counted) {
    const auto former = std::exchange(at.unsettled, std::nullopt);
    call.counts_again = former && former->first == call.call.count;
    call.count_id = mark.party = call.counts_again ? former->second : owner_id::random();
    request.claim.permits = call.call.count;
    request.claim.wait = false;  // it fails where too few are left
    request.claim.insists = true;
  }
  claimant self = at.self;
  self.value = store::to_value(mark);
  request.claim.metadata = std::make_shared<const std::string>(to_metadata(self));
  std::optional<store::time_point> limit;
  if (call.call.until && next != step::passed) {
    limit = std::max<store::time_point>(*call.call.until, time_.now() + least_patience);
  }
  call.claim = leases_.acquire(std::move(request), limit,
                               [this, id, next](taken result) { on_claimed(id, next, std::move(result)); });
}

void rendezvous_calls::on_claimed(call_id id, step next, taken result) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) return;  // it has ended, and cancelled the claim
  operation& call = found->second;
  call.claim = 0;
  if (const auto* const lease = std::get_if<lease_record_ptr>(&result)) {
    return next == step::counted ? on_count(id, *lease) : on_step(id, next, *lease);
  }
  if (const auto* const failed = std::get_if<failure>(&result)) {
    if (next == step::counted && failed->code == errc::unknown_outcome) {
      call.at->unsettled = {call.call.count, call.count_id};
    }
    return end(id, *failed);
  }
  if (next != step::counted) return end(id, call.seen);
  const bool is_late = call.call.until && time_.now() >= *call.call.until;
  if (is_late) return end(id, failure{errc::timeout, "the store did not confirm the count in time"});
  call.refused = true;
  look(id);
}

/// An earlier count whose outcome was unknown may have taken the permits until it is withdrawn.
failure rendezvous_calls::refusal_of(const operation& of) {
  if (of.counts_again || of.seen.arrived + of.call.count <= of.seen.expected) {
    return {errc::unavailable,
            "a count whose outcome was unknown takes its place until it is withdrawn; try again"};
  }
  return {errc::invalid_argument, "it counts down from " + std::to_string(of.at->expected) +
                                      ", and fewer than " + std::to_string(of.call.count) +
                                      " are left; each use of a latch has a name of its own, or begins when "
                                      "the ttl of the former has ended"};
}

void rendezvous_calls::on_count(call_id id, const lease_record_ptr& lease) {
  operation& call = calls_.at(id);
  call.count = lease;
  auto& counts = call.at->counts;
  std::erase_if(counts, [](const lease_record_ptr& each) { return !is_held(each); });
  counts.push_back(lease);
  if (call.call.waits) return look(id);
  end(id, call.seen);
}

/// The claim of a step is there; that of the step before it ends.
void rendezvous_calls::on_step(call_id id, step next, const lease_record_ptr& lease) {
  operation& call = calls_.at(id);
  rendezvous& at = *call.at;
  if (const auto former = std::exchange(at.place, lease)) leases_.release(former, nullptr);
  at.has_arrived = next == step::arrived;
  if (at.has_arrived) return look(id);
  ++at.phase;
  end(id, call.seen);
}

void rendezvous_calls::look(call_id id) {
  operation& call = calls_.at(id);
  const store::claim& terms = call.at->terms.claim;
  call.looks = std::make_unique<repeated_look>(
      time_, port_, terms.name, terms.retry.limit(),
      [this, id](const store::inspected& answer) { return on_seen(id, answer); });
  call.looks->look();
}

store::time_point rendezvous_calls::on_seen(call_id id, const store::inspected& answer) {
  const rendezvous& at = *calls_.at(id).at;
  if (const auto* const failed = std::get_if<failure>(&answer)) {
    end(id, *failed);
  } else if (const auto& state = std::get<std::optional<lock_state>>(answer); is_of_another_kind(at, state)) {
    end(id, failure{errc::wrong_type, "the name is in use as another lock, or with another number expected"});
  } else if (at.kind == rendezvous::type::latch) {
    on_latch_seen(id, state);
  } else {
    on_barrier_seen(id, state);
  }
  return time_.now() + longest_pause;
}

void rendezvous_calls::on_latch_seen(call_id id, const std::optional<lock_state>& state) {
  operation& call = calls_.at(id);
  call.seen = store::counted_in(state, call.at->expected);
  if (call.refused) return end(id, refusal_of(call));
  if (call.seen.is_complete()) return end(id, call.seen);
  wait_on(id);
}

void rendezvous_calls::on_barrier_seen(call_id id, const std::optional<lock_state>& state) {
  operation& call = calls_.at(id);
  rendezvous& at = *call.at;
  const store::barrier_view view{state, at.expected};
  // Where the next phase is complete, too, the others have not waited for this party: it joins them again.
  const bool is_left_behind = at.has_arrived && view.is_complete(at.phase + 1);
  if (!at.has_joined || is_left_behind) {
    call.looks.reset();
    end_watch(call);
    at.phase = std::max(at.phase, view.phase_to_join());
    at.has_joined = true;
    return claim(id, step::arrived);
  }
  call.seen = view.at(at.phase);
  if (!view.is_complete(at.phase)) return wait_on(id);
  // From here on the limit is of no account: all have arrived.
  call.is_complete = true;
  call.looks.reset();
  end_watch(call);
  claim(id, step::passed);
}

/// Somebody is missing: waits for the next change.
void rendezvous_calls::wait_on(call_id id) {
  operation& call = calls_.at(id);
  if (call.call.until && time_.now() >= *call.call.until) return end(id, call.seen);
  if (call.watch) return;
  call.watch = port_.watch(call.at->terms.claim.name, [this, id] {
    const auto found = calls_.find(id);
    if (found != calls_.end() && found->second.looks) found->second.looks->look();
  });
}

/// Not under the core lock, which ending a watch takes.
void rendezvous_calls::end_watch(operation& of) {
  if (!of.watch) return;
  time_.defer_callback([watch = std::exchange(of.watch, nullptr)] {});
}

void rendezvous_calls::time_is_up(call_id id) {
  operation& call = calls_.at(id);
  call.limit = 0;
  if (call.claim != 0 || call.is_complete) return;  // the claim has a limit of its own
  if (!call.looks || !call.looks->is_looking()) return end(id, call.seen);
  if (std::exchange(call.overdue, true)) return end(id, store::no_answer().reason);
  call.limit = time_.at(time_.now() + least_patience, [this, id] { time_is_up(id); });
}

void rendezvous_calls::cancel(call_id id) { end(id, failure{errc::cancelled, "the wait was cancelled"}); }

void rendezvous_calls::end(call_id id, arrived result) {
  auto ended = calls_.extract(id);
  if (!ended) return;
  operation& call = ended.mapped();
  rendezvous& at = *call.at;
  time_.cancel(call.limit);
  end_watch(call);
  if (call.claim != 0) leases_.cancel(call.claim);
  // The count may be there until its withdrawal.
  const bool is_unsettled = call.claim != 0 || (call.refused && call.counts_again);
  if (is_unsettled && call.call.count > 0) at.unsettled = {call.call.count, call.count_id};
  at.busy = false;
  call.done(std::move(result));
}

void rendezvous_calls::lost(const lease_record_ptr& lease) {
  std::vector<call_id> of;
  for (auto& [id, call] : calls_) {
    const rendezvous& at = *call.at;
    const bool is_arrival = at.has_arrived && at.place == lease && !call.is_complete;
    if (is_arrival || call.count == lease) of.push_back(id);
  }
  for (const call_id id : of) {
    const rendezvous& at = *calls_.at(id).at;
    if (at.kind == rendezvous::type::barrier) {
      go_on(id);  // finds that the arrival is lost
    } else {
      end(id, failure{errc::lost, "the count of this call was lost, so the latch may not open"});
    }
  }
}

void rendezvous_calls::leave(const rendezvous_ptr& at) {
  for (const lease_record_ptr& each : std::exchange(at->counts, {})) leases_.leave(each);
  const auto place = std::exchange(at->place, nullptr);
  if (!place) return;
  if (at->has_arrived) {
    leases_.release(place, nullptr);  // the others wait for one that comes in its place
  } else {
    leases_.leave(place);
  }
}

void rendezvous_calls::close() {
  while (!calls_.empty()) end(calls_.begin()->first, failure{errc::closed, "the client was closed"});
}

}  // namespace holdfast::lease_core
