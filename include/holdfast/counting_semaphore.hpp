// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
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

/// std::counting_semaphore across processes, as far as the store reaches: at most `capacity` permits of a
/// name are held at a time, first come first served. Small requests do not starve a large request at the head
/// of the queue.
///
/// The standard's verbs (`acquire`, `try_acquire` …) keep permits in this object, one each. A permit whose
/// holder died is free again after its ttl. Unlike the standard's, `release()` gives back only what this
/// object acquired, because permits are leases. The verbs for leases are `acquire_permits` and its other
/// forms; see `mutex` for all of them.
///
/// All users of a name must give the same capacity. While the name is in use, a claim with another capacity
/// fails with errc::wrong_type. Loss, threads and errors are those of `mutex`.
class HOLDFAST_EXPORT counting_semaphore : public detail::lock_base {
 public:
  /// Does not ask the store anything yet. The options are those of the client.
  /// \param name 1 to 512 bytes of UTF-8 without control characters.
  /// \param capacity how many permits there are: 1 to 1 000 000 000.
  /// \throws holdfast::error errc::invalid_name; errc::invalid_argument for another capacity.
  counting_semaphore(client& locks, std::string_view name, std::ptrdiff_t capacity)
      : lock_base{locks, name, checked(capacity), std::nullopt, false} {}
  /// As above, with options of its own in place of the client's.
  counting_semaphore(client& locks, std::string_view name, std::ptrdiff_t capacity,
                     const lock_options& options)
      : lock_base{locks, name, checked(capacity), options, false} {}

  /// The capacity.
  [[nodiscard]] std::ptrdiff_t max() const noexcept {
    return static_cast<std::ptrdiff_t>(handle_.capacity());
  }

  /// Waits in the queue until this object keeps one more permit.
  /// \throws holdfast::error errc::timeout after the `wait_limit` of the options; else as `mutex`.
  void acquire() { handle_.lock({mode::permits, 1, std::nullopt}); }
  /// As `acquire()`, until `stop` is requested; then the place in the queue is given up.
  /// \return whether a permit is kept; false only after a stop.
  [[nodiscard]] bool acquire(std::stop_token stop) {
    return handle_.lock({mode::permits, 1, std::nullopt, std::move(stop)});
  }
  /// Asks the store once, and does not enter the queue. Refused also while others wait.
  /// \return whether a permit is kept.
  [[nodiscard]] bool try_acquire() { return handle_.lock({mode::permits, 1, duration::zero()}); }
  /// Waits in the queue for at most `limit`, of any unit; zero and less: as `try_acquire()`.
  /// \param stop ends the wait early, if it is requested.
  /// \return whether a permit is kept.
  template <class Rep, class Period>
  [[nodiscard]] bool try_acquire_for(const std::chrono::duration<Rep, Period>& limit,
                                     std::stop_token stop = {}) {
    return handle_.lock({mode::permits, 1, detail::to_limit(limit), std::move(stop)});
  }
  /// As `try_acquire_for`, until a time point of any clock. If the clock is set meanwhile, its new time
  /// counts.
  template <class Clock, class Duration>
  [[nodiscard]] bool try_acquire_until(const std::chrono::time_point<Clock, Duration>& limit,
                                       const std::stop_token& stop = {}) {
    return detail::until(limit, stop, [&](duration left) { return try_acquire_for(left, stop); });
  }
  /// Gives back the `count` oldest permits kept here, without waiting; fewer kept: those.
  void release(std::ptrdiff_t count = 1) noexcept { handle_.unlock(mode::permits, count); }

  /// Waits in the queue for `count` permits as one lease, all or none.
  /// \param count 1 to `max()`; other counts fail with errc::invalid_argument, here and in all forms.
  /// \throws holdfast::error errc::timeout after the `wait_limit` of the options; else as `mutex`.
  [[nodiscard]] lease acquire_permits(std::ptrdiff_t count) {
    return *handle_.acquire({mode::permits, count, std::nullopt});
  }
  /// As `acquire_permits(count)`, until `stop` is requested; then the place in the queue is given up.
  /// \return the lease; empty only after a stop.
  [[nodiscard]] std::optional<lease> acquire_permits(std::ptrdiff_t count, std::stop_token stop) {
    return handle_.acquire({mode::permits, count, std::nullopt, std::move(stop)});
  }
  /// Asks the store once, and does not enter the queue. Refused also while others wait.
  /// \return the lease; empty where it was refused.
  [[nodiscard]] std::optional<lease> try_acquire_permits(std::ptrdiff_t count) {
    return handle_.acquire({mode::permits, count, duration::zero()});
  }
  /// Waits in the queue for at most `limit`, of any unit; zero and less: as `try_acquire_permits(count)`.
  /// \param stop ends the wait early, if it is requested.
  /// \return the lease; empty where the permits were not free within that time, or after a stop.
  template <class Rep, class Period>
  [[nodiscard]] std::optional<lease> try_acquire_permits_for(std::ptrdiff_t count,
                                                             const std::chrono::duration<Rep, Period>& limit,
                                                             std::stop_token stop = {}) {
    return handle_.acquire({mode::permits, count, detail::to_limit(limit), std::move(stop)});
  }
  /// As `try_acquire_permits_for`, until a time point of any clock. If the clock is set meanwhile, its new
  /// time counts.
  template <class Clock, class Duration>
  [[nodiscard]] std::optional<lease> try_acquire_permits_until(
      std::ptrdiff_t count, const std::chrono::time_point<Clock, Duration>& limit,
      const std::stop_token& stop = {}) {
    return detail::until(limit, stop,
                         [&](duration left) { return try_acquire_permits_for(count, left, stop); });
  }

  // The asynchronous forms; see <holdfast/async.hpp>.

  /// Waits in the queue for `count` permits as one lease, all or none; for at most the `wait_limit` of the
  /// options, if they have one (errc::timeout).
  template <class Token = detail::default_token>
  auto async_acquire_permits(std::ptrdiff_t count, Token&& token = Token{});
  /// Asks the store once for `count` permits. Completes with an inert lease where it was refused.
  template <class Token = detail::default_token>
  auto async_try_acquire_permits(std::ptrdiff_t count, Token&& token = Token{});
  /// Waits for `count` permits for at most `limit`, of any unit, from the start of the operation. Completes
  /// with an inert lease where they were not free within that time.
  template <class Rep, class Period, class Token = detail::default_token>
  auto async_try_acquire_permits_for(std::ptrdiff_t count, const std::chrono::duration<Rep, Period>& limit,
                                     Token&& token = Token{});
  /// As `async_try_acquire_permits_for`, until a time point of any clock, read when the operation starts.
  template <class Clock, class Duration, class Token = detail::default_token>
  auto async_try_acquire_permits_until(std::ptrdiff_t count,
                                       const std::chrono::time_point<Clock, Duration>& limit,
                                       Token&& token = Token{});

 private:
  static std::int64_t checked(std::ptrdiff_t capacity);
};

}  // namespace holdfast
