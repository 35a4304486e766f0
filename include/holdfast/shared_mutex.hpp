// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string_view>
#include <utility>

#include "holdfast/client.hpp"
#include "holdfast/detail/locks.hpp"
#include "holdfast/export.hpp"
#include "holdfast/lease.hpp"
#include "holdfast/options.hpp"

namespace holdfast {

/// std::shared_timed_mutex across processes, as far as the store reaches, fair: readers and writers wait in
/// one queue, so a stream of readers never starves a writer.
///
/// Meets TimedLockable and SharedTimedLockable. Everything that `mutex` says of verbs, ownership, threads,
/// loss and errors holds here. Several shared holds may be kept in one object; `unlock_shared()` gives back
/// the oldest.
class HOLDFAST_EXPORT shared_mutex : public detail::exclusive_lock {
 public:
  /// Does not ask the store anything yet. The options are those of the client.
  /// \param name 1 to 512 bytes of UTF-8 without control characters.
  /// \throws holdfast::error errc::invalid_name.
  shared_mutex(client& locks, std::string_view name) : exclusive_lock{locks, name, std::nullopt, true} {}
  /// As above, with options of its own in place of the client's.
  shared_mutex(client& locks, std::string_view name, const lock_options& options)
      : exclusive_lock{locks, name, options, true} {}

  /// Waits in the queue, behind the writers that came earlier, until this object keeps one more shared hold.
  /// \throws holdfast::error errc::timeout after the `wait_limit` of the options; else as `mutex`.
  void lock_shared() { handle_.lock({mode::shared, 1, std::nullopt}); }
  /// As `lock_shared()`, until `stop` is requested; then the place in the queue is given up.
  /// \return whether a hold is kept; false only after a stop.
  [[nodiscard]] bool lock_shared(std::stop_token stop) {
    return handle_.lock({mode::shared, 1, std::nullopt, std::move(stop)});
  }
  /// Asks the store once, and does not enter the queue. Refused also while a writer is waiting.
  /// \return whether a hold is kept.
  [[nodiscard]] bool try_lock_shared() { return handle_.lock({mode::shared, 1, duration::zero()}); }
  /// Waits in the queue for at most `limit`, of any unit; zero and less: as `try_lock_shared()`.
  /// \param stop ends the wait early, if it is requested.
  /// \return whether a hold is kept.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& limit,
                                         std::stop_token stop = {}) {
    return handle_.lock({mode::shared, 1, detail::to_limit(limit), std::move(stop)});
  }
  /// As `try_lock_shared_for`, until a time point of any clock. If the clock is set meanwhile, its new time
  /// counts.
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration>& limit,
                                           const std::stop_token& stop = {}) {
    return detail::until(limit, stop, [&](duration left) { return try_lock_shared_for(left, stop); });
  }
  /// Gives the oldest kept shared hold back, as `unlock()` does an exclusive one.
  void unlock_shared() noexcept { handle_.unlock(mode::shared); }

  /// Changes the hold from exclusive to shared without releasing it (the name is Boost.Thread's). Readers
  /// that are queued next are granted, and no writer in between. The token stays. Waits for the store.
  /// \throws holdfast::error errc::not_owner, errc::lost, errc::unavailable, errc::unknown_outcome,
  ///         errc::closed; the hold is then unchanged, and `unlock()` ends it. With errc::unknown_outcome
  ///         readers may have been granted already.
  void unlock_and_lock_shared() { handle_.downgrade(); }

  /// Waits in the queue, behind the writers that came earlier, for a shared hold.
  /// \throws holdfast::error errc::timeout after the `wait_limit` of the options; else as `mutex`.
  [[nodiscard]] lease acquire_shared() { return *handle_.acquire({mode::shared, 1, std::nullopt}); }
  /// As `acquire_shared()`, until `stop` is requested; then the place in the queue is given up.
  /// \return the lease; empty only after a stop.
  [[nodiscard]] std::optional<lease> acquire_shared(std::stop_token stop) {
    return handle_.acquire({mode::shared, 1, std::nullopt, std::move(stop)});
  }
  /// Asks the store once, and does not enter the queue. Refused also while a writer is waiting.
  /// \return the lease; empty where it was refused.
  [[nodiscard]] std::optional<lease> try_acquire_shared() {
    return handle_.acquire({mode::shared, 1, duration::zero()});
  }
  /// Waits in the queue for at most `limit`, of any unit; zero and less: as `try_acquire_shared()`.
  /// \param stop ends the wait early, if it is requested.
  /// \return the lease; empty where writers had the name for all of that time, or after a stop.
  template <class Rep, class Period>
  [[nodiscard]] std::optional<lease> try_acquire_shared_for(const std::chrono::duration<Rep, Period>& limit,
                                                            std::stop_token stop = {}) {
    return handle_.acquire({mode::shared, 1, detail::to_limit(limit), std::move(stop)});
  }
  /// As `try_acquire_shared_for`, until a time point of any clock. If the clock is set meanwhile, its new
  /// time counts.
  template <class Clock, class Duration>
  [[nodiscard]] std::optional<lease> try_acquire_shared_until(
      const std::chrono::time_point<Clock, Duration>& limit, const std::stop_token& stop = {}) {
    return detail::until(limit, stop, [&](duration left) { return try_acquire_shared_for(left, stop); });
  }

  // The asynchronous forms; see <holdfast/async.hpp>.

  /// Waits for a shared hold, in one queue with the writers; for at most the `wait_limit` of the options, if
  /// they have one (errc::timeout).
  template <class Token = detail::default_token>
  auto async_acquire_shared(Token&& token = Token{});
  /// Asks the store once for a shared hold. Completes with an inert lease where it was refused, as it is also
  /// while a writer is waiting.
  template <class Token = detail::default_token>
  auto async_try_acquire_shared(Token&& token = Token{});
  /// Waits for a shared hold for at most `limit`, of any unit, from the start of the operation. Completes
  /// with an inert lease where writers had the name for all of that time.
  template <class Rep, class Period, class Token = detail::default_token>
  auto async_try_acquire_shared_for(const std::chrono::duration<Rep, Period>& limit, Token&& token = Token{});
  /// As `async_try_acquire_shared_for`, until a time point of any clock, read when the operation starts.
  template <class Clock, class Duration, class Token = detail::default_token>
  auto async_try_acquire_shared_until(const std::chrono::time_point<Clock, Duration>& limit,
                                      Token&& token = Token{});
};

}  // namespace holdfast
