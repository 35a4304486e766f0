#include "simulation/rendezvous_user.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "holdfast/error.hpp"
#include "holdfast/options.hpp"

namespace holdfast::sim {

using namespace std::chrono_literals;
using bent_lease::rendezvous;
using bent_lease::rendezvous_call;
using lease_core::lease_record;

namespace {

bool is_held(const lease_core::lease_record_ptr& lease) {
  return lease && lease->state() == lease_record::phase::held;
}

}  // namespace

rendezvous_user::rendezvous_user(surroundings& around, host& at, bent_lease::rendezvous_calls& through,
                                 type kind)
    : around_{around},
      host_{at},
      calls_{through},
      kind_{kind},
      name_{kind == type::latch ? latch_name : barrier_name} {}

/// As rendezvous_handle makes it.
rendezvous_user::object_ptr rendezvous_user::make(duration ttl, bool renews) {
  const auto made = std::make_shared<rendezvous>();
  made->kind = kind_;
  made->expected = expected_parties;
  made->party = drawn(around_.in.chance);
  made->self.host = "host-" + std::to_string(host_.number());
  made->self.label = name_of(name_) + '/' + std::to_string(host_.number()) + '/' +
                     std::to_string(host_.life()) + '/' + std::to_string(++objects_);
  store::claim& c = made->terms.claim;
  c.name = name_of(name_);
  c.mode = mode::permits;
  c.capacity = capacity_of(name_);
  c.ttl = ttl;
  c.wait = true;
  made->terms.margin = lock_options{}.ttl(ttl).drift_margin();
  made->terms.renews = renews || kind_ == type::barrier;
  return std::make_shared<object>(object{made, 1, std::nullopt});
}

bool rendezvous_user::has_counted() const {
  return std::ranges::any_of(object_->at->counts, [](const auto& each) { return is_held(each.lease); });
}

/// In the end the latch is open for as long as as many clients as it expects have counted.
bool rendezvous_user::has_to_count() const {
  return kind_ == type::latch && host_.number() <= expected_parties && !has_counted();
}

/// In half of its lives it does not come before the arrivals of its former life have ended.
void rendezvous_user::live() {
  randomness& chance = around_.in.chance;
  const bool rests = objects_ == 0 && host_.life() > 1 && chance.one_in(2);
  host_.hear_after(chance.between(0ms, 600ms) + (rests ? longest_ttl : 0ms), [this] { meet(); });
}

void rendezvous_user::meet() {
  if (retired_) return;
  randomness& chance = around_.in.chance;
  if (!object_) {
    object_ = make(usual_ttls.at(chance.below(usual_ttls.size())), !chance.one_in(8));
    if (chance.one_in(4)) object_->number = 2;
  }
  rendezvous_call call;
  if (kind_ == type::latch && !has_counted() && !chance.one_in(4)) {
    call.count = object_->number;
    call.waits = !chance.one_in(3);
  }
  std::optional<duration> limit;
  if (chance.one_in(3)) {
    limit = chance.one_in(4) ? 0ms : chance.between(10ms, 2s);
  } else if (kind_ == type::latch && !chance.one_in(6)) {
    limit = chance.between(1s, 5s);  // where all wait, and nobody counts
  }
  start(call, limit);
  if (!chance.one_in(8)) return;
  host_.hear_after(chance.between(0ms, 1s), [this, of = object_, which = object_->call] {
    if (of->call && of->call == which) calls_.cancel(*which);
  });
}

void rendezvous_user::start(rendezvous_call call, std::optional<duration> limit) {
  ++around_.operations;
  around_.in.note("meets", host_.number(), name_, static_cast<std::uint64_t>(call.count));
  around_.meetings->begins(object_->name(), name_);
  if (limit) call.until = host_.now() + *limit;
  object_->call =
      calls_.start(object_->at, call, [this, of = object_, call](const bent_lease::arrived& result) {
        host_.defer_callback([this, of, call, result] { on_met(of, call, result); });
      });
}

void rendezvous_user::on_met(const object_ptr& of, const rendezvous_call& call,
                             const bent_lease::arrived& result) {
  of->call.reset();
  if (closed_) return;
  judge(*of, call, result);
  const auto* const seen = std::get_if<arrivals>(&result);
  const bool has_passed = seen != nullptr && seen->is_complete() && call.waits;
  const bool is_from_before = before_ == of;
  if (is_from_before) before_ = nullptr;
  if (object_ != of) return leave(of);
  if (!retired_) return go_on(has_passed);
  go_on_last(call, has_passed && !is_from_before);
}

void rendezvous_user::judge(const object& of, const rendezvous_call& call,
                            const bent_lease::arrived& result) {
  rendezvous_watch& sees = *around_.meetings;
  if (const auto* const failed = std::get_if<failure>(&result)) {
    around_.in.note("failed", host_.number(), name_, static_cast<std::uint64_t>(failed->code.value()));
    if (failed->code == errc::invalid_argument) sees.told_too_many(of.name(), call.count);
    const bool may_be_full =
        call.count > 0 && (failed->code == errc::invalid_argument || failed->code == errc::unavailable);
    // The arrival of a party may be from before, and be lost.
    const bool is_new = kind_ == type::latch ? object_.get() == &of : rounds_ > 0;
    // A hold may be ended by force as late as that.
    const bool is_ended = failed->code == errc::lost && around_.account.broken_at(name_) >= retired_at_;
    if (retired_ && is_new && !may_be_full && !is_ended) {
      around_.in.violated("a latch or a barrier failed although nothing hindered it: " + failed->message);
    }
    return;
  }
  const auto& seen = std::get<arrivals>(result);
  around_.in.note("met", host_.number(), name_, static_cast<std::uint64_t>(seen.arrived));
  if (kind_ == type::barrier) {
    if (seen.is_complete()) sees.told_passed(of.name(), seen.phase);
  } else if (call.waits && seen.is_complete()) {
    sees.told_open(of.name());
  }
}

void rendezvous_user::go_on(bool has_passed) {
  randomness& chance = around_.in.chance;
  const std::uint64_t rarely = kind_ == type::latch ? 6 : 32;
  const std::uint64_t often = kind_ == type::latch ? 2 : 8;
  if (chance.one_in(has_passed ? often : rarely)) leave(std::exchange(object_, nullptr));
  live();
}

void rendezvous_user::leave(const object_ptr& of) {
  tell_what_stays(*of);
  calls_.leave(of->at);
}

void rendezvous_user::tell_what_stays(const object& of) {
  const auto tell = [&](const lease_core::lease_record_ptr& lease) {
    if (is_held(lease) && lease->stays && lease->held_at(host_.now()))
      around_.meetings->leaves(host_, *lease);
  };
  for (const rendezvous::count& each : of.at->counts) tell(each.lease);
  tell(of.at->place);
}

void rendezvous_user::require_told(const lease_core::lease_record_ptr& lost) {
  if (closed_ || !object_ || !object_->call) return;
  const auto is_it = [&](const rendezvous::count& each) { return each.lease == lost; };
  if (std::ranges::none_of(object_->at->counts, is_it)) return;
  host_.defer_callback([this, of = object_, which = object_->call] {
    if (of->call == which) around_.in.violated("a count is lost, and the wait for the others goes on");
  });
}

void rendezvous_user::die() {
  if (object_) tell_what_stays(*object_);
}

void rendezvous_user::retire() {
  retired_ = true;
  retired_at_ = around_.in.now;
  if (object_ && object_->call) before_ = object_;
  if (kind_ == type::latch) {
    // What it has counted may be more than its part, and its wait may be one for itself.
    if (object_ && !before_) leave(object_);
    object_ = make(longest_ttl, true);
  } else if (!object_) {
    object_ = make(longest_ttl, true);
  }
  if (object_ != before_) meet_last();
}

void rendezvous_user::meet_last() {
  if (closed_) return;
  const bool counts = has_to_count();
  if (kind_ == type::latch && is_done() && !counts) {
    host_.hear_after(200ms, [this] { meet_last(); });
    return;
  }
  rendezvous_call call;
  call.count = counts ? 1 : 0;
  call.waits = !counts;
  start(call, std::nullopt);
}

/// A latch is full until the counts of the dead have ended. The others may need its count, or its arrivals,
/// for longer.
void rendezvous_user::go_on_last(const rendezvous_call& call, bool has_passed) {
  if (has_passed) ++rounds_;
  const bool waits_on = call.waits && !is_done();
  host_.hear_after(waits_on ? 10ms : 200ms, [this] { meet_last(); });
}

}  // namespace holdfast::sim
