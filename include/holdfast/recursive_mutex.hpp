// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string_view>
#include <thread>
#include <utility>

#include "holdfast/client.hpp"
#include "holdfast/detail/locks.hpp"
#include "holdfast/export.hpp"
#include "holdfast/options.hpp"

namespace holdfast {

/// std::recursive_timed_mutex across processes, as far as the store reaches: the thread that holds may lock
/// again, and the name is given back with its last unlock. Only the first lock and the last unlock reach the
/// store. Meets TimedLockable.
///
/// Only this type is owned by a thread of the process: `unlock()` by another thread does nothing.
///
/// The verbs that return a lease do not nest, because a lease is not bound to a thread: each call is a claim
/// of its own. `acquire()` by the thread that has locked this object waits for that thread's own `unlock()`:
/// for ever, or until the `wait_limit`. `try_acquire()` returns empty.
///
/// *Loss.* After a loss, locking again fails with errc::lost; the earlier locks still have to be unlocked.
/// Threads, errors and everything else are as `mutex` says.
class HOLDFAST_EXPORT recursive_mutex : public detail::exclusive_leases {
 public:
  /// Does not ask the store anything yet. The options are those of the client.
  /// \param name 1 to 512 bytes of UTF-8 without control characters.
  /// \throws holdfast::error errc::invalid_name.
  recursive_mutex(client& locks, std::string_view name) : exclusive_leases{locks, name, std::nullopt} {}
  /// As above, with options of its own in place of the client's.
  recursive_mutex(client& locks, std::string_view name, const lock_options& options)
      : exclusive_leases{locks, name, options} {}

  /// Waits in the queue until this thread holds the name. If it does already, counts one more lock.
  /// \throws holdfast::error errc::lost where this thread has locked it and the hold is lost; errc::timeout
  ///         after the `wait_limit` of the options; else as `mutex`.
  void lock() { lock_counted(std::nullopt, {}); }
  /// As `lock()`, until `stop` is requested; then the place in the queue is given up.
  /// \return whether this thread holds the name; false only after a stop.
  [[nodiscard]] bool lock(std::stop_token stop) { return lock_counted(std::nullopt, std::move(stop)); }
  /// Asks the store once, and does not enter the queue. A thread that holds the name counts one more lock.
  /// \return whether this thread holds the name now.
  [[nodiscard]] bool try_lock() { return lock_counted(duration::zero(), {}); }
  /// Waits in the queue for at most `limit`, of any unit; zero and less: as `try_lock()`.
  /// \param stop ends the wait early, if it is requested.
  /// \return whether this thread holds the name now.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& limit,
                                  std::stop_token stop = {}) {
    return lock_counted(detail::to_limit(limit), std::move(stop));
  }
  /// As `try_lock_for`, until a time point of any clock. If the clock is set meanwhile, its new time counts.
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& limit,
                                    const std::stop_token& stop = {}) {
    return detail::until(limit, stop, [&](duration left) { return try_lock_for(left, stop); });
  }
  /// Takes one lock of this thread back. The last one gives the name back, as mutex::unlock() does. By a
  /// thread that has not locked it, does nothing.
  void unlock() noexcept;

 private:
  bool lock_counted(std::optional<duration> limit, std::stop_token stop);

  mutable std::mutex guard_;  // of the two below; never held while the store is asked
  std::thread::id owner_;
  std::size_t depth_ = 0;
};

}  // namespace holdfast
