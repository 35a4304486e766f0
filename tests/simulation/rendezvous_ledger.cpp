#include "simulation/rendezvous_ledger.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "base/metadata.hpp"

namespace holdfast::sim {

using namespace std::chrono_literals;
using step = store::attendance::kind;

const rendezvous_ledger::claimed* rendezvous_ledger::find(const owner_id& owner) const {
  const auto found = claims_.find(owner);
  return found == claims_.end() ? nullptr : &found->second;
}

bool rendezvous_ledger::is_excused(std::size_t name, instant since) const {
  return account_.is_suspect(name) || account_.went_back_until() >= since;
}

void rendezvous_ledger::changed(std::size_t name) {
  if (name == latch_name) note_latch();
  if (name == barrier_name) note_barrier();
}

// ---- the latch

/// How much all objects together have counted down.
/// \param since only what has stood from then on.
std::int64_t rendezvous_ledger::counted(bool surely, instant since) const {
  std::map<std::string, std::int64_t> each;
  for (const auto& [owner, standing] : surely ? sure_counts_ : counts_) {
    const claimed* const c = find(owner);
    if (c == nullptr || standing > since) continue;
    each[c->object] = std::max(each[c->object], c->permits);
  }
  std::int64_t sum = 0;
  for (const auto& [object, count] : each) sum += count;
  return sum;
}

void rendezvous_ledger::note_latch() {
  for (const bool surely : {false, true}) {
    auto& standing = surely ? sure_counts_ : counts_;
    const auto former = std::exchange(standing, {});
    for (const owner_id& owner : account_.holders_of(latch_name, surely)) {
      const auto known = former.find(owner);
      standing[owner] = known == former.end() ? in_.now : known->second;
    }
  }
  const auto sum = static_cast<std::size_t>(std::min(counted(false, in_.now), expected_parties));
  std::fill_n(counted_at_.begin(), sum, in_.now);
}

void rendezvous_ledger::told_open(const std::string& object) {
  in_.note("latch open");
  note_latch();
  const instant since = calls_.at(object);
  if (counted_at_.back() < since && !is_excused(latch_name, since)) {
    in_.violated("a latch was passed before all had counted: by " + object);
  }
}

void rendezvous_ledger::told_closed(const std::string& object) {
  note_latch();
  const instant since = calls_.at(object);
  if (counted(true, since) >= expected_parties && !is_excused(latch_name, since)) {
    in_.violated("a latch that was open all the time was told to be closed: to " + object);
  }
}

void rendezvous_ledger::told_too_many(const std::string& object, std::int64_t number) {
  note_latch();
  const instant since = calls_.at(object);
  const auto too_many = static_cast<std::size_t>(expected_parties - number);
  if (counted_at_.at(too_many) < since && !is_excused(latch_name, since)) {
    in_.violated("a count was refused though enough were left: of " + object);
  }
}

// ---- the barrier

/// A phase is complete while all have arrived there, or while one is further.
void rendezvous_ledger::note_barrier() {
  std::uint64_t newest = 0;
  std::set<std::string> arrived;
  bool is_passed = false;
  for (const owner_id& owner : account_.holders_of(barrier_name, false)) {
    const claimed* const c = find(owner);
    if (c == nullptr || c->stands_for.phase < newest) continue;
    if (c->stands_for.phase > newest) {
      newest = c->stands_for.phase;
      arrived.clear();
      is_passed = false;
    }
    if (c->stands_for.stands_for == step::passed) {
      is_passed = true;
    } else {
      arrived.insert(c->object);
    }
  }
  const bool is_complete = is_passed || std::ssize(arrived) >= expected_parties;
  complete_before_[is_complete ? newest + 1 : newest] = in_.now;
}

bool rendezvous_ledger::was_complete(std::uint64_t phase, instant since) const {
  return std::any_of(complete_before_.upper_bound(phase), complete_before_.end(),
                     [&](const auto& each) { return each.second >= since; });
}

/// A party arrives where the others wait, at a phase that it has not passed.
void rendezvous_ledger::require_reached(const std::string& object, std::uint64_t phase) {
  const instant since = calls_.at(object);
  std::uint64_t& reached = reached_[object];
  if (phase > reached && !was_complete(phase - 1, since) && !is_excused(barrier_name, since)) {
    in_.violated("a party takes part in phase " + std::to_string(phase) +
                 " before that has begun: " + object);
  }
  reached = std::max(reached, phase);
}

void rendezvous_ledger::told_passed(const std::string& object, std::uint64_t phase) {
  in_.note("phase passed", phase);
  if (reached_[object] != phase + 1) {
    in_.violated("phase " + std::to_string(phase) + " was passed, and nothing at the store says so: by " +
                 object);
  }
}

// ---- claims

void rendezvous_ledger::asks(const store::claim& claim) {
  if (!claim.metadata) return;
  const claimant self = from_metadata(*claim.metadata);
  const auto stands_for = self.value ? store::attendance_in(*self.value) : std::nullopt;
  if (!stands_for) return;
  claims_[claim.owner] = {self.label, *stands_for, claim.permits};
  if (stands_for->stands_for == step::counted) return;
  note_barrier();
  require_reached(self.label, stands_for->phase);
  // Who has passed may arrive at the next.
  if (stands_for->stands_for == step::passed) require_reached(self.label, stands_for->phase + 1);
}

void rendezvous_ledger::begins(const std::string& object, std::size_t name) {
  calls_[object] = in_.now;
  changed(name);
}

void rendezvous_ledger::leaves(const host& at, const lease_core::lease_record& lease) {
  const instant end = at.true_time_of(lease.deadline());
  in_.note("leaves", at.number(), lease.hold.token.value());
  in_.agenda.add(std::max(in_.now, end - 1ms), [this, hold = lease.hold, since = end - lease.ttl()] {
    const std::size_t name = index_of(hold.name);
    if (account_.broken_at(name) >= since || is_excused(name, since)) return;
    if (account_.is_ended_by_hand(hold.owner)) return;
    const auto there = account_.holders_of(name, false);
    if (std::find(there.begin(), there.end(), hold.owner) == there.end()) {
      in_.violated("what was left at the store has ended before its ttl: " + hold.name + ", token " +
                   std::to_string(hold.token.value()));
    }
  });
}

}  // namespace holdfast::sim
