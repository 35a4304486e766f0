// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "holdfast/candidate.hpp"
#include "lease/lease_record.hpp"
#include "simulation/host.hpp"
#include "simulation/ledger.hpp"

namespace holdfast::sim {

/// Watches what is read of the election of a world. A look and an observer show what somebody has proclaimed.
/// Nobody goes back to an older term or value. A look shows who leads from its begin to its end, and nobody
/// whose resignation was confirmed before. That one leads at a time the witness sees, for a term is a lease.
class election_watch {
 public:
  election_watch(scene& in, const ledger& account) : in_{in}, account_{account} {}

  /// In the order of terms, and of the values of each.
  using position = std::pair<fencing_token, std::uint64_t>;

  /// A candidate or a leader is about to tell the store that value, as that revision of its own.
  void proclaims(const std::string& value, std::uint64_t revision) { revisions_[value] = revision; }
  /// The store has confirmed it to its leader.
  void confirmed(position of);
  void elected(const host& at, const lease_core::lease_record_ptr& lease);
  void resigned(const lease_core::lease_record& lease);

  /// What is known when somebody begins to look.
  struct look {
    instant began{};
    instant forgotten_at{};
    std::optional<position> newest;
  };
  [[nodiscard]] look begin_look();
  /// \param is_sure all servers were heard, where a majority decides.
  void end_look(const look& from, const std::optional<candidate>& leader, bool is_sure);

  /// What one observer has reported.
  struct reports {
    position newest{};
    store::time_point newest_at{};  // by the observer's clock
    instant forgotten_at{};
    std::optional<candidate> leader;
  };
  void reported(const host& at, reports& before, const observation& now);

 private:
  struct term {
    const host* at = nullptr;
    std::uint32_t life = 0;
    lease_core::lease_record_ptr lease;
    instant since{};
  };
  struct resignation {
    owner_id owner;
    instant confirmed{};
  };
  [[nodiscard]] bool is_in_order();
  void require_proclaimed(const candidate& leader);
  void require_leaders_shown(const look& from, const std::optional<candidate>& leader);

  scene& in_;
  const ledger& account_;
  std::unordered_map<std::string, std::uint64_t> revisions_;  // by value
  instant forgotten_at_ = instant::min();
  std::optional<position> newest_;  // that was confirmed
  std::map<fencing_token, resignation> resigned_;
  std::vector<term> terms_;
};

}  // namespace holdfast::sim
