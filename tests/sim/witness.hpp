#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "lease/record.hpp"
#include "sim/host.hpp"
#include "sim/ledger.hpp"
#include "sim/standing.hpp"

namespace holdfast::sim {

/// What the clients believe, compared in true time: that no more is believed at once than there is room for,
/// that tokens rise, that a resource which checks them takes nothing stale, and that every loss is told in
/// time.
class witness {
 public:
  witness(scene& in, const ledger& account) : in_{in}, account_{account} {}

  struct belief {
    lease_core::record_ptr lease;
    const host* at = nullptr;
    std::uint32_t life = 0;
    std::size_t name = 0;
    ledger::grant grant;
    bool lowered = false;  // its user has asked for less, and relies on no more
  };

  /// A user has got a lease.
  void granted(const host& at, const lease_core::record_ptr& lease);
  /// Somebody's deadlines may have moved.
  void renewed(const host& at);
  /// A user has begun to give up being alone; or has been told, for sure, that it still is.
  void lowered(const lease_core::record_ptr& lease, bool yes);
  /// A user that has held since then has been told of a loss.
  void lost(const host& at, const lease_core::record& lease, instant since, const site& server);
  /// A user writes to the resource that its lock guards, whether or not it still holds.
  void write(const lease_core::record_ptr& lease, ledger::grant by);

  [[nodiscard]] std::uint64_t grants() const { return grants_; }
  /// Overlaps at a time when a condition of the store did not hold.
  [[nodiscard]] std::uint64_t excused() const { return excused_; }
  [[nodiscard]] std::uint64_t stale_refused() const { return stale_refused_; }

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
  [[nodiscard]] static bool is_held(const belief& b);
  [[nodiscard]] static std::int64_t weight_of(const belief& b);
  void compare(std::size_t name);
  void require_rising(const belief& b);

  scene& in_;
  const ledger& account_;
  std::array<std::vector<belief>, names> beliefs_;
  std::array<std::vector<seen>, names> tokens_;
  std::array<resource, names> resources_;
  std::uint64_t grants_ = 0;
  std::uint64_t excused_ = 0;
  std::uint64_t stale_refused_ = 0;
};

}  // namespace holdfast::sim
