// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/port.hpp"
#include "lease/lease_manager.hpp"
#include "lease/observers.hpp"
#include "simulation/election_watch.hpp"
#include "simulation/host.hpp"
#include "simulation/surroundings.hpp"

namespace holdfast::sim {

/// One who campaigns, proclaims and resigns, looks who leads, and observes the election.
class candidate_user {
 public:
  candidate_user(surroundings& around, host& at, lease_core::lease_manager& leases,
                 lease_core::operations& all, store::port& port, store::scheduler& time);

  void live();
  /// Finishes what it is at, soon; then leads once, however long it has to wait.
  void retire();
  /// In the end, one of all: leads until `resign_last`.
  void lead_last();
  void resign_last();
  void close() { observers_.close(); }

  /// Whether it has waited since before it was told to retire.
  [[nodiscard]] bool waits_since_before() const { return before_ && claim_.has_value(); }
  [[nodiscard]] bool is_done() const { return is_done_; }
  [[nodiscard]] bool leads() const { return lease_ != nullptr; }
  /// The value that the store has confirmed last.
  [[nodiscard]] const std::string& value() const { return value_; }
  /// What its observer has reported last.
  [[nodiscard]] const std::optional<candidate>& observed() const { return reports_->leader; }

 private:
  using lease_record_ptr = lease_core::lease_record_ptr;

  void observe();
  void look_now_and_then();
  void look();
  void campaign();
  void ask(store::claim wanted, std::optional<duration> limit);
  void on_taken(const lease_core::taken& t);
  void lead(const lease_record_ptr& lease);
  void proclaim();
  void resign();
  void on_lost(const lease_core::lease_record& lease, instant since);
  void go_on();
  [[nodiscard]] store::claim claim_for(duration ttl);
  [[nodiscard]] std::string new_value();

  surroundings& around_;
  host& host_;
  lease_core::lease_manager& leases_;
  lease_core::operations& operations_;
  store::port& port_;
  lease_core::observers observers_;
  lease_core::observers::observer_id observer_ = 0;
  std::shared_ptr<election_watch::reports> reports_;
  std::optional<lease_core::op_id> claim_;
  lease_record_ptr lease_;
  std::uint64_t terms_ = 0;  // a number for each
  std::uint64_t values_ = 0;
  std::string value_;
  std::shared_ptr<const std::string> metadata_;
  bool proclaims_ = false;  // one is under way
  bool retired_ = false;
  bool before_ = false;
  bool is_done_ = false;
  bool is_last_ = false;
};

}  // namespace holdfast::sim
