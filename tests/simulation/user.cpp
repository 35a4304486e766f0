// SPDX-License-Identifier: Apache-2.0
#include "simulation/user.hpp"

#include <array>
#include <chrono>
#include <memory>
#include <utility>

#include "holdfast/options.hpp"

namespace holdfast::sim {

using namespace std::chrono_literals;
using lease_core::lease_record;

void user::live() {
  host_.hear_after(around_.in.chance.between(0ms, 400ms), [this] { claim(); });
}

store::claim user::any_claim() {
  randomness& chance = around_.in.chance;
  const std::size_t name = chance.below(around_.names_used);
  store::claim c;
  c.name = name_of(name);
  c.owner = drawn(chance);
  c.ttl = usual_ttls.at(chance.below(usual_ttls.size()));
  if (name >= locks) {
    c.mode = mode::permits;
    c.capacity = permits_in_all;
    c.permits = 1 + static_cast<std::int64_t>(chance.below(permits_in_all));
  } else {
    c.shareable = name == 0 || !around_.second_is_mutex;
    if (chance.one_in(3) && c.shareable) c.mode = mode::shared;
  }
  c.wait = !chance.one_in(8);
  if (!c.wait) c.retry.limit(0s);  // as a try does
  static const auto nobody = std::make_shared<const std::string>(R"({"host":"simulated"})");
  c.metadata = nobody;
  if (around_.has_rests) {
    if (c.ttl < longest_ttl && chance.one_in(4)) c.grace = chance.between(50ms, longest_ttl - c.ttl);
    if (chance.one_in(8)) c.at_least = chance.between(10ms, longest_ttl);
  }
  c.margin = lock_options{}.ttl(c.ttl).drift_margin();
  c.renews = !chance.one_in(8);
  return c;
}

void user::claim() {
  if (retired_) return;
  randomness& chance = around_.in.chance;
  store::claim w = any_claim();
  std::optional<duration> limit;
  if (w.wait && chance.one_in(3)) limit = chance.between(10ms, 2s);
  ask(std::move(w), limit);
  if (claim_ && chance.one_in(8)) {
    host_.hear_after(chance.between(0ms, 1s), [this, which = *claim_] {
      if (claim_ == which) operations_.cancel(which, {errc::cancelled, "cancelled"});
    });
  }
}

void user::claim_last() {
  if (is_done()) return;
  store::claim w = any_claim();
  w.name = name_of(rounds_);
  w.mode = rounds_ < locks ? mode::exclusive : mode::permits;
  w.capacity = rounds_ < locks ? 0 : permits_in_all;
  w.permits = permits_in_all;
  w.shareable = rounds_ == 0 || (rounds_ < locks && !around_.second_is_mutex);
  w.wait = true;
  w.retry = {};
  w.grace = w.at_least = {};
  w.renews = true;
  ask(std::move(w), std::nullopt);
}

void user::ask(store::claim wanted, std::optional<duration> limit) {
  ++around_.operations;
  const std::size_t name = index_of(wanted.name);
  around_.in.note("asks", host_.number(), name, static_cast<std::uint64_t>(wanted.mode));
  std::optional<store::time_point> until;
  if (limit) until = host_.now() + *limit;
  claim_ = 0;  // nothing answers within the call
  claim_ = book_.acquire(
      std::make_shared<const store::claim>(std::move(wanted)), until,
      [this](lease_core::taken t) { host_.defer_callback([this, t = std::move(t)] { on_taken(t); }); });
}

void user::on_taken(const lease_core::taken& t) {
  claim_.reset();
  around_.in.note("answered", host_.number(), kind_of(t));
  if (const auto* lease = std::get_if<lease_record_ptr>(&t)) return hold(*lease);
  if (retired_ && !before_) around_.in.violated("a claim failed although nothing hindered it");
  go_on();
}

void user::hold(const lease_record_ptr& lease) {
  randomness& chance = around_.in.chance;
  const instant since = around_.in.now;
  // As session does for a user who comes to a lease that was lost on the way.
  book_.check(lease);
  if (lease->state() != lease_record::phase::held) return go_on();
  lease_ = lease;
  const std::uint64_t hold = ++holds_;
  around_.sees.granted(host_, lease);
  grant_ = around_.account.grant_of(lease->hold);
  lease->on_lost.push_back(
      {0, false, [this, l = lease.get(), since](std::error_code) { on_lost(*l, since); }});
  if (retired_) {
    host_.hear_after(1ms, [this, hold] {
      if (hold == holds_ && lease_) release();
    });
    return;
  }
  depth_ = chance.one_in(8) ? 2 : 1;
  work(hold);
  const duration length = chance.between(0ms, chance.one_in(12) ? 5s : 300ms);
  host_.hear_after(length, [this, hold] {
    if (hold != holds_ || !lease_) return;
    if (--depth_ > 0)
      return host_.hear_after(5ms, [this, hold] {
        if (hold == holds_ && lease_) release();
      });
    release();
  });
  if (lease->mode() == mode::exclusive && chance.one_in(5)) {
    host_.hear_after(chance.between(0ms, length), [this, hold] {
      if (hold == holds_ && lease_) downgrade();
    });
  }
  if (chance.one_in(8)) {
    host_.hear_after(chance.between(0ms, length), [this, hold] {
      if (hold == holds_ && lease_) renew();
    });
  }
}

/// Writes now and then. Some look first whether they still hold, and then take their time.
void user::work(std::uint64_t hold) {
  randomness& chance = around_.in.chance;
  for (std::uint64_t i = chance.below(3); i > 0; --i) {
    const bool looks = chance.one_in(2);
    const duration when = chance.between(0ms, chance.one_in(4) ? 4s : 300ms);
    host_.hear_after(when, [this, hold, looks, lease = lease_, grant = grant_] {
      if (looks && (hold != holds_ || !lease->held_at(host_.now()))) return;
      host_.hear_after(around_.in.chance.between(0ms, 30ms),
                       [this, lease, grant] { around_.sees.write(lease, grant); });
    });
  }
}

void user::downgrade() {
  if (lease_->mode() != mode::exclusive) return;
  const lease_record_ptr lease = lease_;
  around_.sees.lowered(lease, true);
  book_.downgrade(lease, [this, lease](std::optional<failure> failed) {
    around_.in.note("downgraded", host_.number(), failed ? 1 : 0);
    // What failed for certain has changed nothing: its user may go on as if alone. A hold that its user has
    // released meanwhile, and that rests, may have been lowered by an earlier try.
    if (failed && failed->code != errc::lost && lease->mode() == mode::exclusive)
      around_.sees.lowered(lease, false);
  });
}

void user::renew() {
  around_.in.note("renews", host_.number(), lease_->hold.token.value());
  book_.renew(lease_, [this](renewal outcome) {
    around_.in.note("renewed", host_.number(), static_cast<std::uint64_t>(outcome));
  });
}

void user::release() {
  const lease_record_ptr lease = std::exchange(lease_, nullptr);
  around_.in.note("releases", host_.number(), lease->hold.token.value());
  lease->is_unused = retired_;  // others are to be served soon
  const bool rests = !retired_ && lease->rests_until() > host_.now();
  book_.release(lease, [this, lease, rests](std::error_code failed) {
    around_.in.note("released", host_.number(), static_cast<std::uint64_t>(failed.value()));
    if (!failed && !rests && around_.account.answers_for(lease->hold.owner)) {
      around_.in.violated("released for sure, and still at the store");
    }
    const bool in_time = host_.now() < lease->deadline();
    if (failed == errc::lost && in_time && around_.account.surely_lives(lease->hold)) {
      around_.in.violated("told at its release to be lost, and still at the store");
    }
  });
  go_on();
}

/// Every other time it releases, after a moment. It may have been asked right before it was granted.
void user::requested(const lease_record_ptr& lease) {
  release_requests& all = *around_.requests;
  around_.in.note("is told of a request", host_.number(), lease->hold.token.value());
  if (!all.owners.contains(lease->hold.owner)) around_.in.violated("told of a request that nobody has made");
  if (lease_ != lease || !all.chance.one_in(2)) return;
  host_.hear_after(all.chance.between(0ms, 50ms), [this, hold = holds_] {
    if (hold == holds_ && lease_) release();
  });
}

void user::on_lost(const lease_record& lease, instant since) {
  around_.sees.lost(host_, lease, since, around_.server);
  if (lease_.get() != &lease) return;
  lease_ = nullptr;
  go_on();
}

void user::go_on() {
  if (retired_) {
    if (!std::exchange(before_, false)) ++rounds_;
    return claim_last();
  }
  live();
}

void user::retire() {
  retired_ = true;
  before_ = true;
  if (lease_) {
    release();
  } else if (!claim_) {
    before_ = false;
    claim_last();
  }
}

}  // namespace holdfast::sim
