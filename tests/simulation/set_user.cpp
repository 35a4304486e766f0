// SPDX-License-Identifier: Apache-2.0
#include "simulation/set_user.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>

#include "holdfast/options.hpp"

namespace holdfast::sim {

using namespace std::chrono_literals;
using lease_core::lease_record;

void set_user::live() {
  host_.hear_after(around_.in.chance.between(0ms, 800ms), [this] { claim(); });
}

store::claim set_user::claim_for(std::size_t name, duration ttl) const {
  static const auto nobody = std::make_shared<const std::string>(R"({"host":"simulated"})");
  store::claim c;
  c.name = name_of(name);
  c.owner = drawn(around_.in.chance);
  c.ttl = ttl;
  c.mode = name < locks ? mode::exclusive : mode::permits;
  c.capacity = name < locks ? 0 : permits_in_all;
  c.permits = name < locks ? 1 : permits_in_all;
  c.shareable = name == 0 || (name < locks && !around_.second_is_mutex);
  c.metadata = nobody;
  c.margin = lock_options{}.ttl(ttl).drift_margin();
  return c;
}

void set_user::claim() {
  if (retired_) return;
  randomness& chance = around_.in.chance;
  const duration ttl = usual_ttls.at(chance.below(usual_ttls.size()));
  const bool waits = !chance.one_in(4);
  const bool renews = !chance.one_in(8);
  std::vector<store::claim> claims;
  const std::size_t left_out = chance.one_in(2) ? names : chance.below(around_.names_used);
  for (std::size_t name = 0; name < around_.names_used; ++name) {
    if (name == left_out) continue;
    store::claim w = claim_for(name, ttl);
    if (w.mode == mode::permits) {
      w.permits = 1 + static_cast<std::int64_t>(chance.below(permits_in_all));
    } else if (w.shareable && chance.one_in(3)) {
      w.mode = mode::shared;
    }
    w.wait = waits;
    if (!waits) w.retry.limit(0s);
    w.renews = renews;
    claims.push_back(std::move(w));
  }
  // In the order of names, as lock_set asks for them: or else two may wait for each other.
  if (around_.with == mutant::set_in_any_order && chance.one_in(2)) std::ranges::reverse(claims);
  std::optional<duration> limit;
  if (waits && chance.one_in(3)) limit = chance.between(10ms, 2s);
  ask(std::move(claims), limit);
  if (chance.one_in(8)) {
    host_.hear_after(chance.between(0ms, 1s), [this, which = *claim_] {
      if (claim_ == which) operations_.cancel(which, {errc::cancelled, "cancelled"});
    });
  }
}

void set_user::claim_last() {
  if (is_done_) return;
  std::vector<store::claim> claims;
  for (std::size_t name = 0; name < around_.names_used; ++name) {
    claims.push_back(claim_for(name, longest_ttl));
    claims.back().wait = true;
  }
  ask(std::move(claims), std::nullopt);
}

void set_user::ask(std::vector<store::claim> claims, std::optional<duration> limit) {
  ++around_.operations;
  around_.in.note("asks for several", host_.number(), claims.size());
  std::optional<store::time_point> until;
  if (limit) until = host_.now() + *limit;
  claim_ = 0;  // nothing answers within the call
  claim_ = sets_.acquire(std::move(claims), until, [this](lease_core::set_taken t) {
    if (const auto* all = std::get_if<std::vector<lease_record_ptr>>(&t)) {
      const auto is_held = [&](const lease_record_ptr& l) { return l->held_at(host_.now()); };
      if (!std::ranges::all_of(*all, is_held)) around_.in.violated("a set has a name that it does not hold");
    }
    host_.defer_callback([this, t = std::move(t)] { on_taken(t); });
  });
}

void set_user::on_taken(const lease_core::set_taken& t) {
  claim_.reset();
  around_.in.note("answered several", host_.number(), kind_of(t));
  if (const auto* all = std::get_if<std::vector<lease_record_ptr>>(&t)) return hold(*all);
  if (retired_ && !before_) around_.in.violated("a set failed although nothing hindered it");
  go_on();
}

void set_user::hold(const std::vector<lease_record_ptr>& all) {
  randomness& chance = around_.in.chance;
  const instant since = around_.in.now;
  held_ = all;
  const std::uint64_t hold = ++holds_;
  for (const lease_record_ptr& each : all) leases_.check(each);
  if (std::ranges::any_of(all, [](const auto& l) { return l->state() != lease_record::phase::held; })) {
    return release();
  }
  for (const lease_record_ptr& each : all) {
    around_.sees.granted(host_, each);
    each->on_lost.push_back(
        {0, false, [this, l = each.get(), since](std::error_code) { on_lost(*l, since); }});
    if (chance.one_in(2)) continue;
    host_.hear_after(chance.between(0ms, 300ms),
                     [this, lease = each, grant = around_.account.grant_of(each->hold)] {
                       around_.sees.write(lease, grant);
                     });
  }
  host_.hear_after(retired_ ? 1ms : chance.between(0ms, chance.one_in(12) ? 5s : 300ms), [this, hold] {
    if (hold == holds_ && !held_.empty()) release();
  });
}

void set_user::release() {
  around_.in.note("releases several", host_.number(), held_.size());
  for (const lease_record_ptr& each : std::exchange(held_, {})) {
    leases_.release(each, [this, each](std::error_code failed) {
      if (!failed && around_.account.answers_for(each->hold.owner)) {
        around_.in.violated("released for sure, and still at the store");
      }
    });
  }
  go_on();
}

void set_user::on_lost(const lease_record& lease, instant since) {
  around_.sees.lost(host_, lease, since, around_.server);
  const auto is_it = [&](const lease_record_ptr& l) { return l.get() == &lease; };
  if (std::ranges::any_of(held_, is_it)) release();
}

void set_user::go_on() {
  if (!retired_) return live();
  if (!std::exchange(before_, false)) is_done_ = true;
  claim_last();
}

void set_user::retire() {
  retired_ = true;
  before_ = true;
  if (!held_.empty()) {
    release();
  } else if (!claim_) {
    before_ = false;
    claim_last();
  }
}

}  // namespace holdfast::sim
