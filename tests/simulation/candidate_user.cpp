// SPDX-License-Identifier: Apache-2.0
#include "simulation/candidate_user.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <variant>

#include "base/metadata.hpp"
#include "core/leader_tracker.hpp"
#include "holdfast/options.hpp"

namespace holdfast::sim {

using namespace std::chrono_literals;
using lease_core::lease_record;

namespace {

/// How long a look is tried again before its error is its answer.
constexpr duration patience = 2s;

/// As term::proclaim makes it.
std::shared_ptr<const std::string> with_value(const std::string& metadata, const std::string& value) {
  claimant self = from_metadata(metadata);
  self.value = value;
  ++self.value_revision;
  return std::make_shared<const std::string>(to_metadata(self));
}

std::uint64_t revision_in(const std::string& metadata) { return from_metadata(metadata).value_revision; }

/// Whether each server was heard, and grants. Otherwise those that know the token may be among the others.
bool is_sure(const std::optional<lock_state>& seen) {
  return !seen || std::none_of(seen->notes.begin(), seen->notes.end(), [](const server_note& each) {
    return each.text.find("the hold of") == std::string::npos &&
           each.text.find("a hold of") == std::string::npos;
  });
}

}  // namespace

candidate_user::candidate_user(surroundings& around, host& at, lease_core::lease_manager& leases,
                               lease_core::operations& all, store::port& port, store::scheduler& time)
    : around_{around},
      host_{at},
      leases_{leases},
      operations_{all},
      port_{port},
      observers_{time, port, patience} {}

void candidate_user::live() {
  if (observer_ == 0) {
    observe();
    look_now_and_then();
  }
  host_.hear_after(around_.in.chance.between(0ms, 600ms), [this] { campaign(); });
}

// ---- looks

/// Each observer begins anew: what the one before has reported does not bind it.
void candidate_user::observe() {
  if (observer_ != 0) observers_.remove(observer_);
  reports_ = std::make_shared<election_watch::reports>();
  observer_ = observers_.add(name_of(election_name), [this, reports = reports_](const observation& seen) {
    around_.elections->reported(host_, *reports, seen);
  });
}

/// A notification is a hint of a change, and so is a moment that is drawn.
void candidate_user::look_now_and_then() {
  host_.hear_after(around_.in.chance.between(0ms, 3s), [this] {
    if (retired_) return;
    switch (around_.in.chance.below(8)) {
      case 0: observe(); break;
      case 1:
      case 2: look(); break;
      default: observers_.look(observer_); break;
    }
    look_now_and_then();
  });
}

void candidate_user::look() {
  const auto from = around_.elections->begin_look();
  port_.inspect(name_of(election_name), 0, host_.now() + patience,
                [this, from](const store::inspected& answer) {
                  const auto* const state = std::get_if<std::optional<lock_state>>(&answer);
                  if (state == nullptr) return;
                  around_.elections->end_look(from, store::leader_in(*state), is_sure(*state));
                });
}

// ---- terms

std::string candidate_user::new_value() {
  return std::to_string(host_.number()) + '/' + std::to_string(host_.life()) + '/' +
         std::to_string(++values_);
}

store::claim candidate_user::claim_for(duration ttl) {
  value_ = new_value();
  claimant self;
  self.host = "host-" + std::to_string(host_.number());
  self.value = value_;
  metadata_ = std::make_shared<const std::string>(to_metadata(self));
  store::claim c;
  c.name = name_of(election_name);
  c.owner = drawn(around_.in.chance);
  c.ttl = ttl;
  c.election = true;
  c.wait = true;
  c.metadata = metadata_;
  c.margin = lock_options{}.ttl(c.ttl).drift_margin();
  return c;
}

void candidate_user::campaign() {
  if (retired_) return;
  randomness& chance = around_.in.chance;
  store::claim w = claim_for(usual_ttls.at(chance.below(usual_ttls.size())));
  w.wait = !chance.one_in(8);
  if (!w.wait) w.retry.limit(0s);
  if (around_.has_rests && w.ttl < longest_ttl && chance.one_in(4)) {
    w.grace = chance.between(50ms, longest_ttl - w.ttl);
  }
  w.renews = !chance.one_in(8);
  std::optional<duration> limit;
  if (w.wait && chance.one_in(3)) limit = chance.between(10ms, 2s);
  ask(std::move(w), limit);
  if (!chance.one_in(8)) return;
  host_.hear_after(chance.between(0ms, 1s), [this, which = *claim_] {
    if (claim_ == which) operations_.cancel(which, {errc::cancelled, "cancelled"});
  });
}

void candidate_user::ask(store::claim wanted, std::optional<duration> limit) {
  ++around_.operations;
  around_.in.note("campaigns", host_.number());
  around_.elections->proclaims(value_, 0);
  std::optional<store::time_point> until;
  if (limit) until = host_.now() + *limit;
  claim_ = 0;  // nothing answers within the call
  claim_ = leases_.acquire(
      std::make_shared<const store::claim>(std::move(wanted)), until,
      [this](lease_core::taken t) { host_.defer_callback([this, t = std::move(t)] { on_taken(t); }); });
}

void candidate_user::on_taken(const lease_core::taken& t) {
  claim_.reset();
  around_.in.note("campaign ends", host_.number(), kind_of(t));
  if (const auto* lease = std::get_if<lease_record_ptr>(&t)) return lead(*lease);
  if (retired_ && !before_) around_.in.violated("a campaign failed although nothing hindered it");
  go_on();
}

void candidate_user::lead(const lease_record_ptr& lease) {
  randomness& chance = around_.in.chance;
  const instant since = around_.in.now;
  leases_.check(lease);
  if (lease->state() != lease_record::phase::held) return go_on();
  lease_ = lease;
  const std::uint64_t term = ++terms_;
  around_.sees.granted(host_, lease);
  around_.elections->elected(host_, lease);
  lease->on_lost.push_back(
      {0, false, [this, l = lease.get(), since](std::error_code) { on_lost(*l, since); }});
  if (is_last_) return proclaim();
  const duration length = retired_ ? duration{1ms} : chance.between(0ms, chance.one_in(4) ? 5s : 500ms);
  for (std::uint64_t values = retired_ ? 0 : chance.below(4); values > 0; --values) {
    host_.hear_after(chance.between(0ms, length), [this, term] {
      if (term == terms_ && lease_ && !proclaims_) proclaim();
    });
  }
  host_.hear_after(length, [this, term] {
    if (term == terms_ && lease_) resign();
  });
}

/// As term::proclaim. One at a time: it blocks its caller.
void candidate_user::proclaim() {
  proclaims_ = true;
  const std::string value = new_value();
  const auto metadata = with_value(*metadata_, value);
  const std::uint64_t revision = revision_in(*metadata);
  around_.in.note("proclaims", host_.number(), lease_->hold.token.value(), revision);
  around_.elections->proclaims(value, revision);
  leases_.annotate(
      lease_, metadata,
      [this, term = terms_, lease = lease_, value, metadata, revision](const std::optional<failure>& failed) {
        if (!failed) around_.elections->confirmed({lease->hold.token, revision});
        if (term != terms_) return;
        proclaims_ = false;
        metadata_ = failed ? with_value(*metadata, value_) : metadata;
        if (!failed) value_ = value;
      });
}

void candidate_user::resign() {
  const lease_record_ptr lease = std::exchange(lease_, nullptr);
  ++terms_;
  proclaims_ = false;
  around_.in.note("resigns", host_.number(), lease->hold.token.value());
  leases_.release(lease, [this, lease](std::error_code failed) {
    around_.in.note("resigned", host_.number(), static_cast<std::uint64_t>(failed.value()));
    if (failed) return;
    if (around_.account.answers_for(lease->hold.owner)) {
      around_.in.violated("resigned for sure, and still at the store");
    }
    around_.elections->resigned(*lease);
  });
  go_on();
}

void candidate_user::on_lost(const lease_record& lease, instant since) {
  around_.sees.lost(host_, lease, since, around_.server);
  if (lease_.get() != &lease) return;
  lease_ = nullptr;
  ++terms_;
  proclaims_ = false;
  go_on();
}

void candidate_user::go_on() {
  if (is_last_) return;
  if (!retired_) return live();
  if (!std::exchange(before_, false)) {
    is_done_ = true;
  } else {
    ask(claim_for(longest_ttl), std::nullopt);
  }
}

void candidate_user::retire() {
  retired_ = true;
  before_ = true;
  if (lease_) {
    resign();
  } else if (!claim_) {
    before_ = false;
    ask(claim_for(longest_ttl), std::nullopt);
  }
}

void candidate_user::lead_last() {
  is_last_ = true;
  ask(claim_for(longest_ttl), std::nullopt);
}

void candidate_user::resign_last() {
  if (lease_) resign();
}

}  // namespace holdfast::sim
