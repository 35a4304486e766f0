// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "lease/set_claims.hpp"
#include "simulation/host.hpp"
#include "simulation/surroundings.hpp"

namespace holdfast::sim {

/// One who locks several names at once, as lock_set does, works, and unlocks them together; or loses one of
/// them, and unlocks the others. Otherwise as a user.
class set_user {
 public:
  set_user(surroundings& around, host& at, lease_core::lease_manager& leases, lease_core::set_claims& through,
           lease_core::operations& all)
      : around_{around}, host_{at}, leases_{leases}, sets_{through}, operations_{all} {}

  void live();
  /// Finishes what it is at, soon; then takes all names once, and waits as long as it takes.
  void retire();

  /// Whether it has waited since before it was told to retire.
  [[nodiscard]] bool waits_since_before() const { return before_ && claim_.has_value(); }
  [[nodiscard]] bool is_done() const { return is_done_; }

 private:
  using lease_record_ptr = lease_core::lease_record_ptr;

  [[nodiscard]] store::claim claim_for(std::size_t name, duration ttl) const;
  void claim();
  void claim_last();
  void ask(std::vector<store::claim> claims, std::optional<duration> limit);
  void on_taken(const lease_core::set_taken& t);
  void hold(const std::vector<lease_record_ptr>& all);
  void release();
  void on_lost(const lease_core::lease_record& lease, instant since);
  void go_on();

  surroundings& around_;
  host& host_;
  lease_core::lease_manager& leases_;
  lease_core::set_claims& sets_;
  lease_core::operations& operations_;
  std::optional<lease_core::op_id> claim_;
  std::vector<lease_record_ptr> held_;
  std::uint64_t holds_ = 0;  // a number for each hold
  bool retired_ = false;
  bool before_ = false;
  bool is_done_ = false;
};

}  // namespace holdfast::sim
