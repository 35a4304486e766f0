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

/// Holds what is read of the election of a world to what its leaders know: a look and an observer show what
/// somebody has proclaimed, nothing older than what was confirmed before, no leader that has resigned, and a
/// leader for as long as it leads. That one leads at a time the witness sees, for a term is a lease.
class election_ledger {
 public:
  election_ledger(scene& in, const ledger& account) : in_{in}, account_{account} {}

  /// In the order of terms, and of the values of each.
  using position = std::pair<fencing_token, std::uint64_t>;

  /// A candidate or a leader is about to tell the store that value, as that revision of its own.
  void proclaims(const std::string& value, std::uint64_t revision) { revisions_[value] = revision; }
  /// The store has confirmed what its leader asked for at that time.
  void confirmed(position of, instant requested_at);
  void elected(const host& at, const lease_core::lease_record_ptr& lease);
  void resigned(const lease_core::lease_record& lease, instant requested_at);

  /// What is known when somebody begins to look.
  struct look {
    instant began{};
    std::optional<position> newest;
    instant newest_requested_at{};
  };
  [[nodiscard]] look begin_look() const { return {in_.now, newest_, newest_requested_at_}; }
  /// \param is_sure all servers were heard, where a majority decides.
  void end_look(const look& from, const std::optional<candidate>& leader, bool is_sure);

  /// What one observer has reported.
  struct reports {
    position newest{};
    store::time_point newest_at{};  // by the observer's clock
    instant newest_since{};
    std::optional<candidate> leader;
    std::uint64_t count = 0;
  };
  void reported(const host& at, reports& before, const observation& now);

  [[nodiscard]] std::uint64_t looks() const { return looks_; }

 private:
  struct term {
    const host* at = nullptr;
    std::uint32_t life = 0;
    lease_core::lease_record_ptr lease;
    instant requested_at{};
    instant since{};
  };
  struct resignation {
    owner_id owner;
    instant requested_at{};
    instant confirmed{};
  };
  [[nodiscard]] bool went_back_since(instant when) const;
  void require_proclaimed(const candidate& leader);
  void require_leaders_shown(const look& from, const std::optional<candidate>& leader);

  scene& in_;
  const ledger& account_;
  std::unordered_map<std::string, std::uint64_t> revisions_;  // by value
  std::optional<position> newest_;                            // that was confirmed
  instant newest_requested_at_{};
  std::map<fencing_token, resignation> resigned_;
  std::vector<term> terms_;
  std::uint64_t looks_ = 0;
};

}  // namespace holdfast::sim
