// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "holdfast/detail/handle.hpp"
#include "holdfast/export.hpp"
#include "holdfast/fencing_token.hpp"
#include "holdfast/lease.hpp"

// The members that several lock types have in common. Users derive nothing from these classes and do not name
// them; the members are part of the public types.

namespace holdfast::detail {

/// The completion token of an asynchronous call that is given none; defined in <holdfast/async.hpp>.
struct default_token;

/// The members of every lock type: its name, and the holds that are kept in the object.
class HOLDFAST_EXPORT lock_base {
 public:
  /// The fencing token of the newest kept hold, also when it is lost. Does not ask the store.
  /// \throws holdfast::error errc::not_owner where no hold is kept here; errc::closed in a forked child.
  [[nodiscard]] fencing_token token() const { return handle_.token(); }
  /// The loss signal of the newest kept hold, as lease::lost().
  /// \throws holdfast::error errc::not_owner where no hold is kept here; errc::closed in a forked child.
  [[nodiscard]] std::stop_token lost() const { return handle_.lost(); }
  /// Fires when somebody asks the newest kept hold to be released, as lease::release_requested().
  /// \throws holdfast::error errc::not_owner where no hold is kept here; errc::closed in a forked child.
  [[nodiscard]] std::stop_token release_requested() const { return handle_.release_requested(); }
  /// Returns whether a hold is kept here and the deadline of the newest one is ahead. Reads the clock and
  /// does not ask the store.
  [[nodiscard]] bool held() const noexcept { return handle_.held(); }
  /// The name that is locked.
  [[nodiscard]] const std::string& name() const noexcept { return handle_.name(); }

 protected:
  lock_base(client& locks, std::string_view name, std::int64_t capacity,
            const std::optional<lock_options>& options, bool shareable)
      : handle_{locks, name, capacity, options, shareable} {}
  ~lock_base() = default;

  detail::handle handle_;
};

/// The verbs that acquire exclusively and return a lease. The lease is not kept in the lock object: it is
/// released by its destructor, by `lease::release()`, or by `async_release()`.
///
/// Each call is a claim of its own in the name's queue. A call on an object that keeps a hold waits for that
/// hold, too.
class HOLDFAST_EXPORT exclusive_leases : public lock_base {
 public:
  /// Waits in the queue until the name is acquired.
  /// \throws holdfast::error errc::timeout after the `wait_limit` of the options; else as the class says.
  [[nodiscard]] lease acquire() { return *handle_.acquire({mode::exclusive, 1, std::nullopt}); }
  /// As `acquire()`, until `stop` is requested; then the place in the queue is given up.
  /// \return the lease; empty only after a stop.
  [[nodiscard]] std::optional<lease> acquire(std::stop_token stop) {
    return handle_.acquire({mode::exclusive, 1, std::nullopt, std::move(stop)});
  }
  /// Asks the store once, and does not enter the queue.
  /// \return the lease; empty where another holds the name.
  [[nodiscard]] std::optional<lease> try_acquire() {
    return handle_.acquire({mode::exclusive, 1, duration::zero()});
  }
  /// Waits in the queue for at most `limit`, of any unit; zero and less: as `try_acquire()`.
  /// \param stop ends the wait early, if it is requested.
  /// \return the lease; empty where another held the name for all of that time, or after a stop.
  template <class Rep, class Period>
  [[nodiscard]] std::optional<lease> try_acquire_for(const std::chrono::duration<Rep, Period>& limit,
                                                     std::stop_token stop = {}) {
    return handle_.acquire({mode::exclusive, 1, to_limit(limit), std::move(stop)});
  }
  /// As `try_acquire_for`, until a time point of any clock. If the clock is set meanwhile, its new time
  /// counts.
  template <class Clock, class Duration>
  [[nodiscard]] std::optional<lease> try_acquire_until(const std::chrono::time_point<Clock, Duration>& limit,
                                                       const std::stop_token& stop = {}) {
    return until(limit, stop, [&](duration left) { return try_acquire_for(left, stop); });
  }

  // The asynchronous forms. They are defined in <holdfast/async.hpp>, which documents tokens, signatures,
  // cancellation and errors for all of them.

  /// Waits in the queue until the name is acquired; for at most the `wait_limit` of the options, if they have
  /// one (errc::timeout).
  template <class Token = default_token>
  auto async_acquire(Token&& token = Token{});
  /// Asks the store once. Completes with an inert lease where another holds the name.
  template <class Token = default_token>
  auto async_try_acquire(Token&& token = Token{});
  /// Waits in the queue for at most `limit`, of any unit, from the start of the operation. Completes with an
  /// inert lease where another held the name for all of that time.
  template <class Rep, class Period, class Token = default_token>
  auto async_try_acquire_for(const std::chrono::duration<Rep, Period>& limit, Token&& token = Token{});
  /// As `async_try_acquire_for`, until a time point of any clock. The time left is read when the operation
  /// starts; if the clock is set afterwards, the end of the wait does not move.
  template <class Clock, class Duration, class Token = default_token>
  auto async_try_acquire_until(const std::chrono::time_point<Clock, Duration>& limit,
                               Token&& token = Token{});

 protected:
  exclusive_leases(client& locks, std::string_view name, const std::optional<lock_options>& options,
                   bool shareable = false)
      : lock_base{locks, name, 0, options, shareable} {}
  ~exclusive_leases() = default;
};

/// The verbs of std::timed_mutex. The hold is kept in this object until `unlock()`; any thread may unlock it.
class HOLDFAST_EXPORT exclusive_lock : public exclusive_leases {
 public:
  /// Waits in the queue until this object holds the name. If it does already, waits for its `unlock()`.
  /// \throws holdfast::error errc::timeout after the `wait_limit` of the options; else as the class says.
  void lock() { handle_.lock({mode::exclusive, 1, std::nullopt}); }
  /// As `lock()`, until `stop` is requested; then the place in the queue is given up.
  /// \return whether this object holds the name; false only after a stop.
  [[nodiscard]] bool lock(std::stop_token stop) {
    return handle_.lock({mode::exclusive, 1, std::nullopt, std::move(stop)});
  }
  /// Asks the store once, and does not enter the queue.
  /// \return whether this object holds the name now.
  [[nodiscard]] bool try_lock() { return handle_.lock({mode::exclusive, 1, duration::zero()}); }
  /// Waits in the queue for at most `limit`, of any unit; zero and less: as `try_lock()`.
  /// \param stop ends the wait early, if it is requested.
  /// \return whether this object holds the name now.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& limit,
                                  std::stop_token stop = {}) {
    return handle_.lock({mode::exclusive, 1, to_limit(limit), std::move(stop)});
  }
  /// As `try_lock_for`, until a time point of any clock. If the clock is set meanwhile, its new time counts.
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& limit,
                                    const std::stop_token& stop = {}) {
    return until(limit, stop, [&](duration left) { return try_lock_for(left, stop); });
  }
  /// Gives the name back: sent at once, never waited for, and retried in the background until the store
  /// confirms it or the lease has ended. Without a kept hold it does nothing.
  ///
  /// On SQLite and MariaDB, and with notify=poll, a thread of the client sends it, on other stores this one
  /// if there is a connection. If the process ends first, by std::exit(), exec or a signal, with its client
  /// neither destroyed nor closed, the name stays held until its ttl is over. Before that call
  /// `client::close()`, or, for a lease, `lease::release()`.
  void unlock() noexcept { handle_.unlock(mode::exclusive); }

 protected:
  using exclusive_leases::exclusive_leases;
  ~exclusive_lock() = default;
};

}  // namespace holdfast::detail
