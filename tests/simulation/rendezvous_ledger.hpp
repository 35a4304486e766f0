#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "core/arrivals.hpp"
#include "core/claim.hpp"
#include "lease/lease_record.hpp"
#include "simulation/host.hpp"
#include "simulation/ledger.hpp"

namespace holdfast::sim {

/// Holds a latch and a barrier to what they promise. It counts by itself: whose claims stand at the store, by
/// its ledger, and what each of them was asked for. An object of a user counts once, however many claims it
/// has there. What somebody is told during a call has to have been so at a moment of the call.
///
/// A store that has gone back to older contents, has two primaries or has lost a part of a name is excused
/// for the calls of that time.
class rendezvous_ledger {
 public:
  rendezvous_ledger(scene& in, const ledger& account) : in_{in}, account_{account} {}

  /// Something has changed at the store.
  void changed(std::size_t name);
  /// A client asks for a claim. One that says how far a party is has to be true: others go by it.
  void asks(const store::claim& claim);

  /// A call of that object begins. One at a time.
  void begins(const std::string& object, std::size_t name);
  /// So its user is told at the end of the call: the latch is open, or has not been.
  void told_open(const std::string& object);
  void told_closed(const std::string& object);
  /// Fewer than that number are left to be counted.
  void told_too_many(const std::string& object, std::int64_t number);
  /// All have arrived at that phase.
  void told_passed(const std::string& object, std::uint64_t phase);
  /// A process ends, or gives up its object: a count and a passing stay until the end of their ttl.
  void leaves(const host& at, const lease_core::lease_record& lease);

 private:
  struct claimed {
    std::string object;
    store::attendance stands_for;
    std::int64_t permits = 0;
  };
  [[nodiscard]] const claimed* find(const owner_id& owner) const;
  [[nodiscard]] std::int64_t counted(bool surely, instant since) const;
  void note_latch();
  void note_barrier();
  void require_reached(const std::string& object, std::uint64_t phase);
  [[nodiscard]] bool was_complete(std::uint64_t phase, instant since) const;
  [[nodiscard]] bool is_excused(std::size_t name, instant since) const;

  scene& in_;
  const ledger& account_;
  std::unordered_map<owner_id, claimed> claims_;
  std::unordered_map<owner_id, instant> counts_;       // that stand now, since when
  std::unordered_map<owner_id, instant> sure_counts_;  // those that are surely decided, since that
  std::unordered_map<std::string, instant> calls_;     // the last of each object: when it began
  /// The last moment at which so many were counted; the first element is of one.
  std::array<instant, expected_parties> counted_at_ = never_yet();
  /// The last moment at which all phases before that one were complete.
  std::map<std::uint64_t, instant> complete_before_;
  std::unordered_map<std::string, std::uint64_t>
      reached_;  // the phase at which a party may arrive, by object

  static constexpr std::array<instant, expected_parties> never_yet() {
    std::array<instant, expected_parties> all{};
    all.fill(instant::min());
    return all;
  }
};

}  // namespace holdfast::sim
