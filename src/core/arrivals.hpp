#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/owner_id.hpp"
#include "holdfast/arrivals.hpp"
#include "holdfast/state.hpp"

// Pure functions that read a latch or a barrier in the state of its name. Its claims hold permits, and say in
// their values what they stand for.

namespace holdfast::store {

/// What one claim stands for.
struct attendance {
  enum class kind : std::uint8_t {
    counted,  // counts of a latch, as many as the claim has permits
    arrived,  // a party of a barrier waits at the end of a phase
    passed,   // a party knows that all had arrived there
  };
  attendance::kind stands_for = kind::counted;
  std::uint64_t phase = 0;
  /// A party, or one call that counts down. Two claims of one party count once: an earlier claim whose
  /// outcome was unknown may still be there.
  owner_id party;
};
[[nodiscard]] std::string to_value(const attendance& of);
/// Empty for a claim of no latch and no barrier.
[[nodiscard]] std::optional<attendance> attendance_in(std::string_view value);

/// The counts of a latch.
[[nodiscard]] arrivals counted_in(const std::optional<lock_state>& of, std::ptrdiff_t expected);

/// Whether a count of that id is there.
[[nodiscard]] bool is_counted(const std::optional<lock_state>& of, const owner_id& id);

/// A barrier as its claims show it.
///
/// A phase is complete when all parties have arrived there at one moment, or when one party is further: it
/// has passed the phase, or is at a later one. The second rule makes a phase stay complete. Parties that know
/// of it go on, and their arrivals end, so others who look later find fewer arrivals than parties.
class barrier_view {
 public:
  barrier_view(const std::optional<lock_state>& of, std::ptrdiff_t expected);

  [[nodiscard]] bool is_complete(std::uint64_t phase) const;
  /// The phase of a party that comes anew: the one that the others wait for.
  [[nodiscard]] std::uint64_t phase_to_join() const;
  [[nodiscard]] arrivals at(std::uint64_t phase) const;

 private:
  std::ptrdiff_t expected_;
  std::optional<std::uint64_t> newest_;   // the latest phase that a claim names
  bool newest_passed_ = false;            // a party has passed it
  std::vector<claimant> newest_arrived_;  // one for each party that has arrived there
};

}  // namespace holdfast::store
