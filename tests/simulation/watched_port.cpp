// SPDX-License-Identifier: Apache-2.0
#include "simulation/watched_port.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "support/request_form.hpp"

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

/// Within that, what did not get through is tried again.
constexpr auto next_try = 1s + 600ms;

/// Whether a claim has ended with an error that says for sure that it was not granted and never will be.
bool is_certain(const store::acquired& result) {
  if (const auto* const failed = std::get_if<failure>(&result)) {
    return failed->code != errc::unknown_outcome && failed->code != errc::closed &&
           failed->code != errc::cancelled;
  }
  return std::holds_alternative<store::refused>(result);
}

}  // namespace

void watched_port::acquire(store::claim_ptr claim, store::handler<store::acquired> done) {
  const owner_id owner = claim->owner;
  around_.account.asks(owner, host_);
  driver::acquire(std::move(claim), [this, owner, done = std::move(done)](store::acquired result) {
    around_.account.asks_no_longer(owner);
    if (!std::holds_alternative<store::granted>(result)) require_gone(owner);
    if (is_certain(result)) around_.account.told_to_have_failed(owner);
    const auto* const no = std::get_if<store::refused>(&result);
    if (no != nullptr && !no->is_unasked && !around_.account.has_turned_away(owner)) {
      around_.in.violated("told that others hold, which the store has not said: " + owner.hex());
    }
    done(std::move(result));
  });
}

void watched_port::cancel(const owner_id& owner) {
  around_.account.asks_no_longer(owner);
  driver::cancel(owner);
  require_gone(owner);
}

void watched_port::renew(std::vector<store::hold> holds, store::time_point answer_by,
                         store::handler<store::renewals> done) {
  host_.sent_renewal();
  driver::renew(std::move(holds), answer_by, [this, done = std::move(done)](store::renewals each) {
    around_.sees.before_renewal(host_);
    done(std::move(each));
    around_.sees.renewed(host_);
  });
}

void watched_port::release(store::hold hold, store::time_point give_up,
                           store::handler<store::released> done) {
  const owner_id owner = hold.owner;
  driver::release(std::move(hold), give_up, [this, owner, give_up, done = std::move(done)](auto outcome) {
    const bool could_try_again = host_.now() + next_try < give_up && !over_.is_refused(owner);
    if (outcome == store::released::unknown && could_try_again) {
      around_.in.violated("a release was given up while it could be tried again: " + owner.hex());
    }
    if (done) done(outcome);
  });
  require_gone(owner);
}

void watched_port::expire_at(store::hold hold, store::time_point until, store::time_point give_up,
                             store::handler<store::released> done) {
  if (until == store::time_point{})
    return driver::expire_at(std::move(hold), until, give_up, std::move(done));
  const instant since = around_.in.now;
  const instant end = host_.true_time_of(until);
  driver::expire_at(hold, until, give_up, [this, hold, since, end, done = std::move(done)](auto outcome) {
    if (outcome == store::released::done && around_.in.now + 5ms < end && is_calm(hold, since) &&
        !around_.account.may_have(hold)) {
      around_.in.violated("a hold that has to rest is not at the store: " + hold.owner.hex());
    }
    if (done) done(outcome);
  });
  around_.in.after(std::max<true_clock::duration>(end - since, 0ns) + next_try,
                   [a = &around_, at = &host_, life = host_.life(), since, owner = hold.owner] {
                     if (at->life() != life || !at->calm_since(since) || !a->server.calm_since(since)) return;
                     if (a->account.answers_for(owner) && !a->account.is_kept_late(owner)) {
                       a->in.violated("rested, and still at the store: " + owner.hex());
                     }
                   });
}

bool watched_port::is_calm(const store::hold& hold, instant since) const {
  const std::size_t name = index_of(hold.name);
  return host_.calm_since(since) && around_.server.calm_since(since) &&
         around_.account.broken_at(name) < since && !around_.account.is_suspect(name) &&
         !around_.account.is_ended_by_hand(hold.owner);
}

void watched_port::on_session(const std::function<void()>& extended) {
  if (!extended) return driver::on_session(extended);
  driver::on_session([this, extended] {
    around_.sees.before_renewal(host_);
    extended();
    around_.sees.renewed(host_);
  });
}

/// What was given up is withdrawn: where nothing hinders it, with the next try.
void watched_port::require_gone(const owner_id& owner) {
  around_.in.after(next_try, [a = &around_, at = &host_, life = host_.life(), since = around_.in.now, owner] {
    if (at->life() != life || !at->calm_since(since) || !a->server.calm_since(since)) return;
    if (a->account.answers_for(owner)) a->in.violated("given up, and still at the store: " + owner.hex());
  });
}

watched_link::watched_link(tickets::link& inner, scene& in, const ledger& account)
    : inner_{inner}, in_{in}, account_{account} {
  inner_.on_gap([this] {
    if (missed_) missed_();
    require_looks();
  });
}

void watched_link::send(tickets::request request, on_reply done) {
  const test::request_form form = test::form_of(request);
  const owner_id owner = form.owner;
  if (form.kind == test::task::release) given_back_.insert(owner);
  for (const store::hold& h : form.holds) {
    if (form.kind == test::task::release_all) {
      given_back_.insert(h.owner);
      continue;
    }
    if (given_back_.contains(h.owner)) in_.violated("a renewal of what was given back: " + h.name);
  }
  const bool claims =
      form.kind == test::task::acquire || form.kind == test::task::find || form.kind == test::task::look;
  waiting_.erase(owner);
  inner_.send(std::move(request), [this, owner, claims, done = std::move(done)](outcome o) {
    heard(owner, claims, o);
    done(std::move(o));
  });
}

void watched_link::heard(const owner_id& owner, bool claims, const outcome& o) {
  const auto* const failed = std::get_if<store::request_error>(&o);
  if (failed != nullptr && !failed->retryable) refused_.insert(owner);
  const auto* const reply = std::get_if<tickets::reply>(&o);
  const auto* const at = claims && reply != nullptr ? std::get_if<tickets::place>(reply) : nullptr;
  if (at != nullptr && !at->granted) waiting_.insert(owner);
}

void watched_link::require_looks() {
  std::erase_if(waiting_, [this](const owner_id& owner) { return !account_.is_asked_by(owner); });
  if (!waiting_.empty()) {
    in_.violated("there is a connection again, and a waiter has not looked: " + waiting_.begin()->hex());
  }
}

}  // namespace holdfast::sim
