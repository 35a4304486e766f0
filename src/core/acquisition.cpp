// SPDX-License-Identifier: Apache-2.0
#include "core/acquisition.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <string>
#include <utility>

namespace holdfast::tickets {

using store::time_point;

namespace {

using namespace std::chrono_literals;

constexpr duration backstop = 1s;
/// An answer gets at least this time, also where a request is tried only once.
constexpr duration least_patience = 1s;
/// The shortest interval between looks behind a silent holder.
constexpr duration often = 50ms;
/// Looks that confirm a grant because of revocations; a true revocation comes once.
constexpr int most_doubts = 2;
/// Looks that a claim makes because its grant arrived late.
constexpr int most_late_grants = 3;
/// A little after the holder's time is up by the store's clock, so that one look is enough.
constexpr duration after_expiry = 1ms;

constexpr const char* may_still_be_granted = "the claim may still be granted, and is then withdrawn";

failure doubtful(const std::string& sentence, const failure& reason) {
  return {errc::unknown_outcome, sentence + ": " + reason.message};
}

bool may_pass(const failure& reason) {
  return reason.code == errc::unavailable || reason.code == errc::exhausted ||
         reason.code == errc::permission_denied || reason.code == errc::unknown_outcome;
}

}  // namespace

time_point next_look(const place& at, time_point kept, duration ttl, time_point now, std::uint64_t jitter) {
  const auto spread = [&](duration d) {
    return d - duration{static_cast<std::int64_t>(jitter % (static_cast<std::uint64_t>(d.count()) / 10 + 1))};
  };
  time_point next = kept + ttl / 3;
  if (at.head && at.silent) {
    next = std::min<time_point>(next, now + 2 * often - spread(often));
  } else if (at.head) {
    next = std::min<time_point>(next, now + spread(backstop));
    if (at.holder_left) next = std::min<time_point>(next, now + *at.holder_left + after_expiry);
  }
  return next;
}

acquisition::acquisition(store::claim_ptr claim) : claim_{std::move(claim)}, pause_{claim_->retry} {}

acquisition::step acquisition::resume(time_point now, std::uint64_t random, const store::event<reply>& e) {
  if (std::holds_alternative<store::started>(e)) return ask(now, random);
  if (const auto* r = std::get_if<store::replied<reply>>(&e)) {
    in_flight_ = false;
    if (const auto* t = std::get_if<store::request_error>(&r->outcome)) return on_error(now, random, *t);
    // A reply that says only that a request was not carried out does not show that the next one will be.
    const auto& said = std::get<reply>(r->outcome);
    const auto* const at = std::get_if<place>(&said);
    const bool in_vain = (state_ == state::finding && at == nullptr) || (at != nullptr && at->is_doubted);
    if (!in_vain) {
      silent_since_.reset();
      trouble_.reset();
      pause_.reset();
    }
    return on_reply(now, random, std::get<reply>(r->outcome));
  }
  if (const auto* n = std::get_if<store::notification>(&e)) return on_notification(now, random, *n);
  if (std::holds_alternative<store::cancelled>(e)) return on_cancelled(now);
  return on_woken(now, random);
}

namespace {

std::string kind_of(std::int64_t capacity) {
  return capacity == store::full_capacity ? "a mutex"
                                          : "a semaphore of " + std::to_string(capacity) + " permits";
}

}  // namespace

/// The answer to a claim that has no place: to the request that made it, or, if the store had to decide on
/// others before, to a look.
acquisition::step acquisition::deny(time_point now, std::uint64_t random, const reply& r) {
  if (const auto* other = std::get_if<other_capacity>(&r)) {
    --claims_;
    const std::string wanted = claim_->election ? "an election" : kind_of(store::capacity_of(*claim_));
    return fail(now,
                {errc::wrong_type, "the name is in use as " + kind_of(other->capacity) + ", and " + wanted +
                                       " was asked for. It can be that when nobody holds it or waits for it "
                                       "any more: until then end its users, or take another name"});
  }
  if (const auto* pause = std::get_if<paused>(&r)) {
    if (state_ == state::asking) --claims_;
    if (!stands_by()) return fail(now, pause->reason);
    trouble_ = {pause->reason, trouble::paused};
    return wake(now + pause_.next(random));
  }
  const auto* const no = std::get_if<refused>(&r);
  if (no == nullptr) {
    return fail(now, {errc::corrupt_store, "the store gave an answer to a claim that is none"});
  }
  step s = over();
  s.answer = store::refused{no->is_unasked};
  return s;
}

acquisition::step acquisition::on_reply(time_point now, std::uint64_t random, const reply& r) {
  const auto* const at = std::get_if<place>(&r);
  switch (state_) {
    case state::finding:
      // Not there: the request was never carried out, or whatever came of it has expired since.
      if (at == nullptr) return ask(now, random);
      // Whichever of its requests made it, its ttl may have begun long ago, and finding does not keep it.
      token_ = at->token;
      return look(now);
    case state::asking:
    case state::looking:
      if (at != nullptr) {
        kept_ = sent_;
        // A server that knows of the place by another one may not know that its secret was used.
        if (state_ == state::looking && at->position.connection != answered_at_.connection) proof_ = 0;
        answered_at_ = at->position;
        return take_place(now, random, *at);
      }
      // The ticket expired before it could be kept (this process was paused, or cut off): queue anew.
      if (state_ == state::looking && std::holds_alternative<nothing>(r)) return ask(now, random);
      return deny(now, random, r);
    case state::withdrawing:
      // A withdrawal ends one claim. The store may then grant another one of this owner, of an earlier try.
      if (!std::holds_alternative<done>(r) || --claims_ <= 0) return over();
      return leave(now);
    case state::leaving: return leave(now);
    case state::waiting:
    case state::over: break;
  }
  assert(!"a reply that no request is waiting for");
  return {};
}

acquisition::step acquisition::take_place(time_point now, std::uint64_t random, const place& at) {
  token_ = at.token;
  if (at.counts_from) kept_ = std::min(kept_, *at.counts_from);
  const early_notifications early = std::exchange(early_, {});
  if (at.granted) {
    // It may have been ended since. Forged revocations must not go on for ever, though.
    if (early.revoked == token_ && doubts_ < most_doubts) {
      ++doubts_;
      return look(now);
    }
    progress_ = std::max(progress_, progress::granted);
    if (at.is_doubted) return doubt(now, random);
    if (!is_late(now)) return grant();
    // It arrived late: this process was paused, or connecting took long. A look gives it another ttl.
    if (++late_grants_ <= (claim_->wait ? most_late_grants : 1) || stands_by()) return look(now);
    return fail(now,
                {errc::lost, "the grant took longer to arrive than its ttl lasts; ask for a longer ttl"});
  }
  // The claim asked not to be queued, and has no wait limit: a faulty store must not let it hang.
  if (!claim_->wait) return fail(now, {errc::corrupt_store, "the store queued a claim that does not wait"});
  if (early.look_at_any || early.look == token_ || early.revoked == token_) return look(now);
  if (at.pause) trouble_ = {*at.pause, trouble::paused};
  if (!has_waited()) progress_ = at.head ? progress::queued_first : progress::queued;
  state_ = state::waiting;
  place current = at;
  current.head = at.head || first_;  // that notification may have overtaken this reply
  return wake(next_look(current, kept_, claim_->ttl, now, random));
}

/// Whether much of the ttl is over; behind a look, which is as fast as the connection is, all of it.
bool acquisition::is_late(time_point now) const {
  return now >= kept_ + (state_ == state::asking ? claim_->ttl / 2 : claim_->ttl - claim_->margin);
}

/// The session of the grant may have ended. The claim looks again until the session is known to live, as it
/// waits for an answer, so a waiter does not lose its grant.
acquisition::step acquisition::doubt(time_point now, std::uint64_t random) {
  state_ = state::looking;
  return on_error(now, random,
                  {{errc::unavailable,
                    "the store has granted the lock, and did not confirm in time that the client's session "
                    "lives"},
                   true,
                   true,
                   true});
}

acquisition::step acquisition::on_error(time_point now, std::uint64_t random, const store::request_error& t) {
  const bool was_doubted = trouble_ && trouble_->is == trouble::doubted;
  const bool is_doubted = was_doubted || t.granted;
  if (!trouble_ || !t.is_unsent) trouble_ = {t.reason, is_doubted ? trouble::doubted : trouble::unanswered};
  const failure reason = trouble_->reason;
  if (t.granted) progress_ = std::max(progress_, progress::granted);
  if (is_doubted && !was_doubted) silent_since_ = now;
  if (state_ == state::asking && (t.maybe_executed || t.granted)) {
    // The claim may be in the queue by now, or even hold. Only the store knows: never guess.
    state_ = state::finding;
  }
  if (state_ == state::asking && !t.maybe_executed) --claims_;
  const time_point next = now + pause_.next(random);
  if (state_ == state::leaving) return leave(now);
  if (state_ == state::withdrawing) {
    // A place that is left at the store ends by itself: with its ttl, or, granted at the last moment, with
    // the ttl that the grant begins. Until then the withdrawal is tried again, also where the store refuses
    // it: a key of a wrong type goes away again, and a claim that is left would be granted then, to nobody.
    if (t.reason.code == errc::closed || next > withdraws_since_ + 2 * store::store_ttl(*claim_))
      return over();
    step s = wake(next);
    s.in_vain = !t.retryable;
    return s;
  }
  // A claim that does not wait asks once, unless its grant is in doubt. Without an answer it is withdrawn in
  // the background.
  const duration once = is_doubted ? least_patience : duration::zero();
  const duration tries = claim_->wait ? claim_->retry.limit() : once;
  if (t.retryable && next <= silent_since_.value_or(now) + tries) return wake(next);
  if (stands_by() && may_pass(reason)) return wake(next);
  // A claim that is in the queue may be granted there by whoever releases, until it is withdrawn.
  const bool may_hold = claims_ > 0 && (state_ != state::looking || reason.code != errc::closed);
  if (!may_hold || t.granted) return fail(now, reason);
  return fail(now, doubtful("the claim may have been granted, and is withdrawn in the background", reason));
}

acquisition::step acquisition::on_notification(time_point now, std::uint64_t random,
                                               const store::notification& n) {
  // A notification may be late, repeated, about a former place of this claim, or earlier than the reply that
  // gives the place.
  if (n.kind == store::notification_kind::first) {
    if (std::exchange(first_, true) || state_ != state::waiting) return {};
    return wake(next_look({token_, false, true, {}}, kept_, claim_->ttl, now, random));
  }
  // At most one request is in flight and at most one more follows it, however many notifications come.
  if (in_flight_) {
    early_.look_at_any = early_.look_at_any || !n.token;
    (n.kind == store::notification_kind::revoked ? early_.revoked : early_.look) = n.token;
    return {};
  }
  if (is_proven(now, n)) return grant(true);
  const bool is_about_place = n.token == token_ || (n.kind == store::notification_kind::look && !n.token);
  const bool has_place = state_ == state::waiting || state_ == state::looking;
  return has_place && is_about_place ? look(now) : step{};
}

/// Nobody has sent it who may not read the locks, and the grant is later than the last answer. One that
/// leaves the holder no more than half of the ttl is left to a look, which gives it a whole one.
bool acquisition::is_proven(time_point now, const store::notification& n) const {
  if (state_ != state::waiting || n.kind != store::notification_kind::granted) return false;
  const bool is_of_place = n.token == token_ && proof_ != 0 && n.proof == proof_;
  return is_of_place && n.position.is_behind(answered_at_) && now + claim_->margin < kept_ + claim_->ttl / 2;
}

acquisition::step acquisition::on_woken(time_point now, std::uint64_t random) {
  if (in_flight_) {
    const bool too_long = now >= patience_ends();
    if (state_ == state::leaving || state_ == state::withdrawing || !too_long) return {};
    // The link ends the request itself, when its connection breaks.
    return stands_by() ? step{} : give_up();
  }
  switch (state_) {
    case state::asking: return ask(now, random);
    case state::finding: return send(now, state::finding, tickets::find{hold_of(*claim_, {})});
    case state::waiting:
    case state::looking: return look(now);
    case state::leaving:
    case state::withdrawing: return leave(now);
    case state::over: break;
  }
  return {};
}

/// A candidate that waits, and has once been in the queue of its election or was granted it, waits until it
/// is elected or gives up itself: a store that has no memory, no room or no right for it for a while must not
/// end it.
bool acquisition::stands_by() const {
  return claim_->election && claim_->wait && progress_ != progress::none;
}

/// A look that was sent a moment ago does not change what the store has said before.
std::optional<failure> acquisition::error_at(time_point now) const {
  const bool is_silent = in_flight_ && !(has_waited() && now < *silent_since_ + least_patience);
  if (!trouble_ && !is_silent) return std::nullopt;
  if (trouble_ && trouble_->is != trouble::unanswered) return trouble_->reason;
  const failure reason = trouble_
                             ? trouble_->reason
                             : failure{errc::unavailable, "the store did not answer within the wait limit"};
  return claims_ > 0 ? doubtful(may_still_be_granted, reason) : reason;
}

/// The end of the wait for the answer to the last request. The last of many tries, too, has time for its
/// answer.
time_point acquisition::patience_ends() const {
  return std::max(*silent_since_ + claim_->retry.limit(), sent_ + least_patience);
}

/// The user has waited long enough for an answer. The store's answer, when it comes, starts the withdrawal.
acquisition::step acquisition::give_up() {
  state_ = state::leaving;
  step s;
  // The error of an earlier try, if there is one, says more.
  s.answer = doubtful(may_still_be_granted, trouble_ ? trouble_->reason : store::no_answer().reason);
  return s;
}

acquisition::step acquisition::on_cancelled(time_point now) {
  if (state_ == state::over) return {};
  if (!in_flight_) return leave(now);
  // The withdrawal is sent after the reply, so that the two requests cannot overtake each other.
  state_ = state::leaving;
  return {};
}

acquisition::step acquisition::ask(time_point now, std::uint64_t random) {
  token_ = {};
  proof_ = claim_->wait && claim_->renews ? random : 0;  // else its lease is to begin with a whole ttl
  answered_at_ = {};
  doubts_ = 0;
  early_ = {};  // what the store answers from here on is newer
  first_ = false;
  ++claims_;
  return send(now, state::asking, acquire{claim_, proof_});
}

acquisition::step acquisition::look(time_point now) {
  early_ = {};
  return send(now, state::looking, tickets::look{hold_of(*claim_, token_)});
}

acquisition::step acquisition::leave(time_point now) {
  if (claims_ <= 0) return over();
  // From now, not from the last request: that may be carried out long after it was sent, while this process
  // is paused.
  if (state_ != state::withdrawing) withdraws_since_ = now;
  return send(now, state::withdrawing, withdraw{hold_of(*claim_, {})});
}

acquisition::step acquisition::grant(bool is_notified) {
  step s = over();
  s.answer = store::granted{token_, kept_, is_notified};
  return s;
}

acquisition::step acquisition::fail(time_point now, failure reason) {
  step s = leave(now);
  s.answer = std::move(reason);
  return s;
}

acquisition::step acquisition::over() {
  state_ = state::over;
  step s;
  s.finished = true;
  return s;
}

acquisition::step acquisition::send(time_point now, state next, tickets::request request) {
  state_ = next;
  sent_ = now;
  if (!silent_since_) silent_since_ = now;
  in_flight_ = true;
  step s;
  s.send = std::move(request);
  if (next != state::withdrawing) s.wake_at = patience_ends();
  return s;
}

acquisition::step acquisition::wake(time_point when) {
  step s;
  s.wake_at = when;
  return s;
}

}  // namespace holdfast::tickets
