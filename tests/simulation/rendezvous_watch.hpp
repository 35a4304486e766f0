#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "core/arrivals.hpp"
#include "core/claim.hpp"
#include "lease/lease_record.hpp"
#include "simulation/host.hpp"
#include "simulation/ledger.hpp"

namespace holdfast::sim {

/// Watches a latch and a barrier: nobody is told that a latch is open, or that all have arrived at a phase,
/// unless as many objects as are expected stood at the store at one moment of the call. An object counts
/// once, however many claims it has there.
///
/// A store that has gone back to older contents, has two primaries or has lost a part of a name is excused
/// for the calls of that time.
class rendezvous_watch {
 public:
  rendezvous_watch(scene& in, const ledger& account) : in_{in}, account_{account} {}

  /// Something has changed at the store.
  void changed(std::size_t name);
  /// A client asks for a claim. One that says how far a party is has to be true: others go by it.
  void asks(const store::claim& claim);

  /// A call of that object begins. One at a time.
  void begins(const std::string& object, std::size_t name);
  /// So its user is told at the end of the call: the latch is open.
  void told_open(const std::string& object);
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
  /// Calls with each claim of that name that holds.
  template <class Function>
  void for_each_holder(std::size_t name, Function with) const;
  void note_latch();
  void note_barrier();
  void require_counted(const std::string& object, std::int64_t number, const std::string& otherwise);
  void require_complete(const std::string& object, std::uint64_t phase);
  [[nodiscard]] bool is_excused(std::size_t name, instant since) const;

  scene& in_;
  const ledger& account_;
  std::unordered_map<owner_id, claimed> claims_;
  std::unordered_map<std::string, instant> calls_;  // the last of each object: when it began
  /// The last moment at which so many were counted.
  std::array<instant, expected_parties + 1> counted_at_ = never_yet();
  std::uint64_t complete_ = 0;  // all had arrived at each phase below

  static constexpr std::array<instant, expected_parties + 1> never_yet() {
    std::array<instant, expected_parties + 1> all{};
    all.fill(instant::min());
    return all;
  }
};

}  // namespace holdfast::sim
