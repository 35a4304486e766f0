#include "simulation/rendezvous_watch.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "base/metadata.hpp"

namespace holdfast::sim {

using namespace std::chrono_literals;
using step = store::attendance::kind;

bool rendezvous_watch::is_excused(std::size_t name, instant since) const {
  return account_.is_suspect(name) || account_.went_back_until() >= since;
}

template <class Function>
void rendezvous_watch::for_each_holder(std::size_t name, Function with) const {
  for (const owner_id& owner : account_.holders_of(name)) {
    if (const auto found = claims_.find(owner); found != claims_.end()) with(found->second);
  }
}

void rendezvous_watch::changed(std::size_t name) {
  if (name == latch_name) note_latch();
  if (name == barrier_name) note_barrier();
}

void rendezvous_watch::note_latch() {
  std::map<std::string, std::int64_t> each;
  for_each_holder(latch_name,
                  [&](const claimed& c) { each[c.object] = std::max(each[c.object], c.permits); });
  std::int64_t sum = 0;
  for (const auto& [object, count] : each) sum += count;
  std::fill_n(counted_at_.begin(), std::min(sum, expected_parties) + 1, in_.now);
}

void rendezvous_watch::note_barrier() {
  std::map<std::uint64_t, std::set<std::string>> at_phase;
  for_each_holder(barrier_name, [&](const claimed& c) { at_phase[c.stands_for.phase].insert(c.object); });
  for (const auto& [phase, objects] : at_phase) {
    if (std::ssize(objects) >= expected_parties) complete_ = std::max(complete_, phase + 1);
  }
}

/// So many stood at the store at a moment of the call.
void rendezvous_watch::require_counted(const std::string& object, std::int64_t number,
                                       const std::string& otherwise) {
  note_latch();
  const instant since = calls_.at(object);
  if (counted_at_.at(static_cast<std::size_t>(number)) < since && !is_excused(latch_name, since))
    in_.violated(otherwise + object);
}

void rendezvous_watch::told_open(const std::string& object) {
  in_.note("latch open");
  require_counted(object, expected_parties, "a latch was passed before all had counted: by ");
}

void rendezvous_watch::told_too_many(const std::string& object, std::int64_t number) {
  require_counted(object, expected_parties - number + 1, "a count was refused though enough were left: of ");
}

void rendezvous_watch::require_complete(const std::string& object, std::uint64_t phase) {
  if (phase < complete_) return;
  if (!is_excused(barrier_name, calls_.at(object))) {
    in_.violated("phase " + std::to_string(phase) + " was passed before all had arrived: by " + object);
  }
  complete_ = phase + 1;  // at a primary that this watch does not see
}

void rendezvous_watch::told_passed(const std::string& object, std::uint64_t phase) {
  in_.note("phase passed", phase);
  require_complete(object, phase);
}

void rendezvous_watch::asks(const store::claim& claim) {
  if (!claim.metadata) return;
  const claimant self = from_metadata(*claim.metadata);
  const auto stands_for = self.value ? store::attendance_in(*self.value) : std::nullopt;
  if (!stands_for) return;
  claims_[claim.owner] = {self.label, *stands_for, claim.permits};
  if (stands_for->stands_for == step::passed) require_complete(self.label, stands_for->phase);
  if (stands_for->stands_for == step::arrived && stands_for->phase > 0)
    require_complete(self.label, stands_for->phase - 1);
}

void rendezvous_watch::begins(const std::string& object, std::size_t name) {
  calls_[object] = in_.now;
  changed(name);
}

void rendezvous_watch::leaves(const host& at, const lease_core::lease_record& lease) {
  const instant end = at.true_time_of(lease.deadline());
  in_.note("leaves", at.number(), lease.hold.token.value());
  in_.agenda.add(std::max(in_.now, end - 1ms), [this, hold = lease.hold, since = end - lease.ttl()] {
    const std::size_t name = index_of(hold.name);
    const bool is_broken = account_.broken_at(name) >= since || account_.is_ended_by_hand(hold.owner);
    if (is_broken || is_excused(name, since)) return;
    const auto there = account_.holders_of(name);
    if (std::find(there.begin(), there.end(), hold.owner) == there.end()) {
      in_.violated("what was left at the store has ended before its ttl: " + hold.name + ", token " +
                   std::to_string(hold.token.value()));
    }
  });
}

}  // namespace holdfast::sim
