// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "lease/lease_manager.hpp"
#include "simulation/host.hpp"
#include "simulation/surroundings.hpp"

namespace holdfast::sim {

/// One who works with a client: locks, works and writes, unlocks; or loses reply_limit, asks for less, asks
/// for a renewal, does not look whether it still holds. It takes the core lock for each call, as a thread
/// would.
class user {
 public:
  user(surroundings& around, host& at, lease_core::lease_manager& through, lease_core::operations& all)
      : around_{around}, host_{at}, book_{through}, operations_{all} {}

  void live();
  /// Finishes what it is at, soon; then takes every name once, and waits for each as long as it takes.
  void retire();
  /// Somebody has asked the holder of a lease of this client, be it this user or another one, to release it.
  void requested(const lease_core::lease_record_ptr& lease);

  /// Whether it has waited since before it was told to retire.
  [[nodiscard]] bool waits_since_before() const { return before_ && claim_.has_value(); }
  [[nodiscard]] bool is_done() const { return rounds_ == around_.names_used; }

 private:
  using lease_record_ptr = lease_core::lease_record_ptr;

  void claim();
  void claim_last();
  [[nodiscard]] store::claim any_claim();
  void ask(store::claim wanted, std::optional<duration> limit);
  void on_taken(const lease_core::taken& t);
  void hold(const lease_record_ptr& lease);
  void work(std::uint64_t hold);
  void downgrade();
  void renew();
  void release();
  void on_lost(const lease_core::lease_record& lease, instant since);
  void go_on();

  surroundings& around_;
  host& host_;
  lease_core::lease_manager& book_;
  lease_core::operations& operations_;
  std::optional<lease_core::op_id> claim_;
  lease_record_ptr lease_;
  ledger::grant grant_;
  std::uint64_t holds_ =
      0;           // a number for each hold, so that what was planned for one does not touch the next
  int depth_ = 0;  // as recursive_mutex counts
  bool retired_ = false;
  bool before_ = false;
  std::size_t rounds_ = 0;
};

}  // namespace holdfast::sim
