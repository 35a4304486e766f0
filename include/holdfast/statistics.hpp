// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "holdfast/export.hpp"
#include "holdfast/options.hpp"
#include "holdfast/state.hpp"

namespace holdfast {

/// How often a duration of which length was measured. The buckets are fixed: bucket i counts what is longer
/// than `bound(i - 1)` and not longer than `bound(i)`; the last one has no bound.
struct HOLDFAST_EXPORT histogram {
  static constexpr std::size_t bucket_count = 17;  ///< with the one that has no bound
  /// The longest duration in a bucket: 16 us, and four times that of the bucket before: 64 us, 256 us,
  /// 1.024 ms and so on until 4 h 46 min.
  /// \param bucket less than `bucket_count - 1`.
  [[nodiscard]] static constexpr duration bound(std::size_t bucket) noexcept {
    return duration{std::int64_t{16} << (2 * bucket)};
  }

  std::array<std::uint64_t, bucket_count> counts{};  ///< in each bucket, without those before it
  duration sum{};                                    ///< of all that was measured
  /// How often was measured.
  [[nodiscard]] std::uint64_t count() const noexcept;
};

/// What has happened in one client since it was opened: see client::statistics. Counters only grow. What is
/// counted are claims at the store, as event tells them: each attempt of a set of locks on each of its names
/// counts.
struct HOLDFAST_EXPORT client_statistics {
  std::uint64_t connects = 0;          ///< connections to servers that were made, also again
  std::uint64_t connect_failures = 0;  ///< tries to connect that failed
  std::uint64_t disconnects = 0;       ///< connections that ended, not by closing the client

  std::uint64_t granted_exclusive = 0;  ///< claims that became leases, for one
  std::uint64_t granted_shared = 0;     ///< those of readers
  std::uint64_t granted_permits = 0;    ///< those of permits
  std::uint64_t queued = 0;             ///< claims that waited behind others
  std::uint64_t refused = 0;            ///< see event_kind::refused
  std::uint64_t failed = 0;             ///< claims that ended with an error
  std::uint64_t withdrawn = 0;          ///< claims that were given up: wait limit, cancellation, closing
  std::uint64_t troubles = 0;           ///< see event_kind::trouble

  std::uint64_t released = 0;             ///< leases that their holders gave up, whatever the store answered
  std::uint64_t lost_ended_at_store = 0;  ///< leases; see loss_reason, also below
  std::uint64_t lost_not_renewed = 0;     ///< loss_reason::not_renewed
  std::uint64_t lost_session_ended = 0;   ///< loss_reason::session_ended
  std::uint64_t lost_client_closed = 0;   ///< loss_reason::client_closed

  std::uint64_t renewals = 0;  ///< that were confirmed, each lease for itself
  /// See event_kind::renewal_late; each renewal once. Without an observer it is counted when it is confirmed,
  /// or when its lease ends.
  std::uint64_t late_renewals = 0;
  std::uint64_t events_dropped = 0;  ///< because the observer was too slow; zero without an observer

  histogram wait{};      ///< of granted claims, from the first request to the grant
  histogram hold{};      ///< of leases that ended, from the grant to the release or the loss
  histogram lateness{};  ///< of confirmed renewals that the client made by itself, against their plan

  /// All grants.
  [[nodiscard]] std::uint64_t granted() const noexcept;
  /// All losses.
  [[nodiscard]] std::uint64_t lost() const noexcept;
  /// Leases that are held now: granted, and neither released nor lost.
  [[nodiscard]] std::uint64_t held() const noexcept;
};

}  // namespace holdfast
