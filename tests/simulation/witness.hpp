// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "lease/lease_record.hpp"
#include "simulation/host.hpp"
#include "simulation/ledger.hpp"
#include "simulation/standing.hpp"

namespace holdfast::sim {

/// What the clients believe, compared in true time: that no more is believed at once than the capacity,
/// that tokens rise, that a resource which checks them takes nothing stale, and that every loss is told in
/// time.
class witness {
 public:
  witness(scene& in, const ledger& account) : in_{in}, account_{account} {}

  struct belief {
    lease_core::lease_record_ptr lease;
    const host* at = nullptr;
    std::uint32_t life = 0;
    std::size_t name = 0;
    ledger::grant grant;
    bool lowered = false;   // its user has asked for less, and relies on no more
    instant requested{};    // when the request was sent that it was granted by
    instant first_end{};    // unless renewed
    bool was_over = false;  // when an answer came that may renew it
  };

  /// A user has got a lease.
  void granted(const host& at, const lease_core::lease_record_ptr& lease);
  /// An answer has come that may move somebody's deadlines; and they may have moved. What is not held before
  /// is not held afterwards.
  void before_renewal(const host& at);
  void renewed(const host& at);
  /// A user has begun to give up being alone; or has been told, for sure, that it still is.
  void lowered(const lease_core::lease_record_ptr& lease, bool yes);
  /// A user that has held since then has been told of a loss.
  void lost(const host& at, const lease_core::lease_record& lease, instant since, const site& server);
  /// No faults for that long, and no lease may end: a session takes a whole timeout of it to be known of
  /// anew.
  void expect_renewal_within(duration fair) { enough_to_renew_ = fair; }
  /// A user writes to the resource that its lock guards, whether or not it still holds.
  void write(const lease_core::lease_record_ptr& lease, ledger::grant by);

  /// A client of others believes that it holds a name, until then by its own clock.
  /// \param asked when it sent the request that it was granted by.
  void outsider_holds(const host& at, std::size_t name, store::time_point until, store::time_point requested);
  void outsider_ends(const host& at);
  /// Grants had to be acknowledged by the replica that takes over: it knows each that is believed, until its
  /// first ttl has passed. A renewal is not waited for.
  void master_fails();
  void replica_takes_over(const std::vector<standing>& there);
  /// Those of a name, with some that have ended.
  [[nodiscard]] const std::vector<belief>& beliefs(std::size_t name) const { return beliefs_.at(name); }
  [[nodiscard]] static bool is_held(const belief& b);
  [[nodiscard]] static bool rests(const belief& b);
  [[nodiscard]] static std::int64_t weight_of(const belief& b);

  [[nodiscard]] std::uint64_t grants() const { return grants_; }
  /// Overlaps at a time when a condition of the store did not hold.
  [[nodiscard]] std::uint64_t excused() const { return excused_; }
  [[nodiscard]] std::uint64_t stale_refused() const { return stale_refused_; }
  [[nodiscard]] std::uint64_t outsiders() const { return outsiders_count_; }

 private:
  struct resource {
    std::uint64_t highest = 0;
    std::uint64_t last_grant = 0;
    std::uint32_t era = 0;
  };
  struct seen {
    ledger::grant grant;
    std::uint64_t token;
  };
  struct outsider {
    const host* at = nullptr;
    std::size_t name = 0;
    store::time_point until;
    store::time_point requested;
  };
  void compare(std::size_t name);
  void require_rising(const belief& b);

  scene& in_;
  const ledger& account_;
  /// A keeper that tries again at least once a second loses nothing where all has been well for this long.
  duration enough_to_renew_ = std::chrono::milliseconds{1500};
  std::array<std::vector<belief>, names> beliefs_;
  std::vector<outsider> outsiders_;
  std::vector<belief> acknowledged_;  // while the replica takes over
  instant fails_at_{};
  std::array<std::vector<seen>, names> tokens_;
  std::array<resource, names> resources_;
  std::uint64_t grants_ = 0;
  std::uint64_t excused_ = 0;
  std::uint64_t stale_refused_ = 0;
  std::uint64_t outsiders_count_ = 0;
};

}  // namespace holdfast::sim
