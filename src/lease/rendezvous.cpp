#include "lease/rendezvous.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "base/metadata.hpp"
#include "core/machine.hpp"
#include "holdfast/error.hpp"

namespace holdfast::lease_core {

using step = store::attendance::kind;

namespace {

/// A lost notification delays a call by at most that.
constexpr duration longest_pause = std::chrono::seconds{1};

/// The answer to the last request gets this time, also where the limit is shorter.
duration patience_of(const rendezvous& at) {
  constexpr duration least = std::chrono::seconds{1};
  return std::max<duration>(least, at.terms.claim.retry.limit());
}

failure lost_arrival() {
  return {errc::lost,
          "the arrival of this party was lost, so the others may miss it; the next call arrives anew"};
}

/// A store may have forgotten the capacity of permits whose claims have ended with their sessions.
bool is_of_another_kind(const rendezvous& at, const std::optional<lock_state>& state) {
  if (!state || state->holders.empty()) return false;
  const bool is_forgotten = state->capacity == 0 && state->holders.front().mode == mode::permits;
  return !is_forgotten && state->capacity != at.terms.claim.capacity;
}

bool is_held(const lease_record_ptr& lease) { return lease && lease->state() == lease_record::phase::held; }
bool was_lost(const rendezvous::count& count) { return count.lease && !is_held(count.lease); }

failure lost_count() {
  return {errc::lost, "a count of this object was lost, so the latch may not open; count down again"};
}

/// The count of a call: of the same id as one that may stand at the store. A loss that has been followed by a
/// call that counts is told no more.
/// \param fresh the id where there is none.
rendezvous::count take_count(rendezvous& at, std::int64_t number, const owner_id& fresh) {
  const auto former = std::find_if(at.counts.begin(), at.counts.end(), [&](const rendezvous::count& each) {
    return each.number == number && !is_held(each.lease);
  });
  const rendezvous::count next{number, former == at.counts.end() ? fresh : former->id, nullptr};
  if (former != at.counts.end()) at.counts.erase(former);
  std::erase_if(at.counts, was_lost);
  return next;
}

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
  store::attendance attendance{next, at.phase, at.party};
  wish request = at.terms;
  request.claim.owner = time_.new_owner();
  request.claim.stays = next != step::arrived;
  if (next == step::counted) {
    call.unconfirmed = take_count(at, call.call.count, time_.new_owner());
    attendance.party = call.unconfirmed->id;
    request.claim.permits = call.call.count;
    request.claim.wait = false;  // it fails where too few are left
    request.claim.insists = true;
  }
  claimant self = at.self;
  self.value = store::to_value(attendance);
  request.claim.metadata = std::make_shared<const std::string>(to_metadata(self));
  if (call.call.until) {
    call.claim_limit = std::max<store::time_point>(*call.call.until, time_.now() + patience_of(at));
  }
  call.claim = leases_.acquire(std::move(request), call.claim_limit,
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
  if (const auto* const failed = std::get_if<failure>(&result)) return end(id, *failed);
  if (next == step::arrived) return end(id, call.seen);
  if (next == step::passed) {
    return end(id, failure{errc::timeout,
                           "all have arrived, but the store did not confirm in time that this party has "
                           "passed; the next call passes"});
  }
  if (call.claim_limit && time_.now() >= *call.claim_limit) {
    return end(id, failure{errc::unknown_outcome,
                           "the store did not confirm the count in time; it may count until it is withdrawn "
                           "in the background"});
  }
  call.refused = true;
  look(id);
}

/// An earlier claim of the same count may have taken the permits until it is withdrawn.
failure rendezvous_calls::refusal_of(const operation& of, const std::optional<lock_state>& state) {
  const std::int64_t number = of.unconfirmed->number;
  if (store::is_counted(state, of.unconfirmed->id) || of.seen.arrived + number <= of.seen.expected) {
    return {errc::unavailable,
            "a former count, whose outcome was unknown or which was lost, takes its place until it is "
            "withdrawn or "
            "its ttl ends; try again"};
  }
  return {errc::invalid_argument, "it counts down from " + std::to_string(of.at->expected) +
                                      ", and fewer than " + std::to_string(number) +
                                      " are left; each use of a latch has a name of its own, or begins when "
                                      "the ttl of the former has ended"};
}

void rendezvous_calls::on_count(call_id id, const lease_record_ptr& lease) {
  operation& call = calls_.at(id);
  call.unconfirmed->lease = lease;
  call.at->counts.push_back(*std::exchange(call.unconfirmed, std::nullopt));
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
  call.looks = std::make_unique<repeated_look>(
      time_, port_, call.at->terms.claim.name, patience_of(*call.at),
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
  if (call.refused) {
    return end(id, refusal_of(call, state));  // an earlier try of its claim may be carried out yet
  }
  if (call.seen.is_complete()) return end(id, call.seen);
  const auto& counts = call.at->counts;
  if (std::any_of(counts.begin(), counts.end(), was_lost)) return end(id, lost_count());
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
    at.has_arrived = false;  // if the claim fails, the next call makes it
    return claim(id, step::arrived);
  }
  call.seen = view.at(at.phase);
  if (!view.is_complete(at.phase)) return wait_on(id);
  // All have arrived: the limit ends no look any more, and the claim has a limit of its own.
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

/// Not under the core lock, which ending a watch takes. Where there is no memory for that, it throws, and the
/// watch goes on.
void rendezvous_calls::end_watch(operation& of) {
  if (!of.watch) return;
  time_.defer_callback([watch = of.watch] {});
  of.watch = nullptr;
}

void rendezvous_calls::time_is_up(call_id id) {
  operation& call = calls_.at(id);
  call.limit = 0;
  if (call.claim != 0 || call.is_complete) return;  // the claim has a limit of its own
  if (!call.looks || !call.looks->is_looking()) return end(id, call.seen);
  if (std::exchange(call.overdue, true)) return end(id, store::no_answer().reason);
  call.limit = time_.at(time_.now() + patience_of(*call.at), [this, id] { time_is_up(id); });
}

void rendezvous_calls::cancel(call_id id) { end(id, failure{errc::cancelled, "the wait was cancelled"}); }

void rendezvous_calls::end(call_id id, arrived result) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) return;
  end_watch(found->second);  // first: where it throws, the call has to keep its watch
  auto ended = calls_.extract(found);
  operation& call = ended.mapped();
  rendezvous& at = *call.at;
  time_.cancel(call.limit);
  if (call.claim != 0) leases_.cancel(call.claim);
  if (call.unconfirmed) at.counts.push_back(*call.unconfirmed);  // it may be there until its withdrawal
  at.busy = false;
  call.done(std::move(result));
}

void rendezvous_calls::lost(const lease_record_ptr& lease) {
  std::vector<call_id> arrivals_lost;
  std::vector<call_id> counts_lost;
  for (auto& [id, call] : calls_) {
    const rendezvous& at = *call.at;
    if (at.has_arrived && at.place == lease && !call.is_complete) arrivals_lost.push_back(id);
    const bool is_count = std::any_of(at.counts.begin(), at.counts.end(),
                                      [&](const rendezvous::count& each) { return each.lease == lease; });
    if (is_count && call.looks && !call.refused) counts_lost.push_back(id);
  }
  for (const call_id id : arrivals_lost) go_on(id);  // finds that the arrival is lost
  for (const call_id id : counts_lost) end(id, lost_count());
}

void rendezvous_calls::leave(const rendezvous_ptr& at) {
  for (const rendezvous::count& each : std::exchange(at->counts, {})) {
    if (each.lease) leases_.leave(each.lease);
  }
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
