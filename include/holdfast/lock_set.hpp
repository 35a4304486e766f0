// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/client.hpp"
#include "holdfast/detail/locks.hpp"
#include "holdfast/detail/set_handle.hpp"
#include "holdfast/export.hpp"
#include "holdfast/lease_set.hpp"
#include "holdfast/lock_spec.hpp"
#include "holdfast/options.hpp"

namespace holdfast {

/// Several names at once, all or none, of one client: std::scoped_lock across processes, without its retries.
///
///     holdfast::lock_set both{locks, {"account/1", "account/2"}};
///     const std::scoped_lock guard{both};
///
/// *Order.* Users may write the names in any order: the set asks for them in the order of their bytes, so
/// sets do not deadlock with one another. Sets do deadlock with code, other sets included, that holds one
/// name and blocks on a smaller one; the waiting ends at the limits then, if there are some.
///
/// *Waiting.* The set first tries all names. Where one is not free, it waits in that name's queue, in its
/// turn; meanwhile it holds the names before that one, and none of those after it. Others may find a name
/// taken for a moment that the set then gives back. A name that is lost while the set waits for another is
/// acquired anew, which with `renewal(false)` happens after each ttl.
///
/// *Verbs.* As `mutex` has them, with a `lease_set` in place of a lease: a fencing token for each name, the
/// earliest deadline, one loss signal. Meets TimedLockable. The asynchronous forms complete with a
/// `lease_set`.
///
/// *Cost.* The requests for all names are sent together, and no reply is awaited between them. SQL stores
/// carry them out one after the other. Where a name is not free, the waits follow one another.
///
/// *Threads.* All members may be called from any thread at any time. The object must outlive all calls that
/// block; destroying it releases what it keeps.
///
/// *Errors.* Those of `mutex`; the message begins with all names and says which of them failed. Where one
/// fails, everything is given back. errc::wrong_type where a name is in use as a semaphore with another
/// capacity, or not as one. A store without permits refuses them as it does for `counting_semaphore`.
class HOLDFAST_EXPORT lock_set {
 public:
  /// Does not ask the store anything yet. The options are those of the client.
  /// \param locks the client; it may be closed or destroyed before the set, which then holds nothing.
  /// \param names 1 to 256 of them, each once.
  /// \throws holdfast::error errc::invalid_name; errc::invalid_argument for a name that comes twice, for no
  ///         or too many names, and for permits beyond the capacity.
  lock_set(client& locks, std::vector<lock_spec> names) : handle_{locks, std::move(names), std::nullopt} {}
  /// As above, with options of its own in place of the client's. They are those of each name.
  lock_set(client& locks, std::vector<lock_spec> names, const lock_options& options)
      : handle_{locks, std::move(names), options} {}

  /// Waits until all names are acquired.
  /// \throws holdfast::error errc::timeout after the `wait_limit` of the options; else as the class says.
  [[nodiscard]] lease_set acquire() { return *handle_.acquire(std::nullopt, {}); }
  /// As `acquire()`, until `stop` is requested.
  /// \return the leases; empty only after a stop.
  [[nodiscard]] std::optional<lease_set> acquire(const std::stop_token& stop) {
    return handle_.acquire(std::nullopt, stop);
  }
  /// Tries all names once.
  /// \return the leases; empty where another holds one of the names.
  [[nodiscard]] std::optional<lease_set> try_acquire() { return handle_.acquire(duration::zero(), {}); }
  /// Waits for at most `limit` in all, of any unit; zero and less: as `try_acquire()`.
  /// \return the leases; empty where others held a name for all of that time, or after a stop.
  template <class Rep, class Period>
  [[nodiscard]] std::optional<lease_set> try_acquire_for(const std::chrono::duration<Rep, Period>& limit,
                                                         const std::stop_token& stop = {}) {
    return handle_.acquire(detail::to_limit(limit), stop);
  }
  /// As `try_acquire_for`, until a time point of any clock. If the clock is set meanwhile, its new time
  /// counts.
  template <class Clock, class Duration>
  [[nodiscard]] std::optional<lease_set> try_acquire_until(
      const std::chrono::time_point<Clock, Duration>& limit, const std::stop_token& stop = {}) {
    return detail::until(limit, stop, [&](duration left) { return try_acquire_for(left, stop); });
  }

  /// Waits until this object holds all names. If it does already, waits for its `unlock()`.
  /// \throws holdfast::error errc::timeout after the `wait_limit` of the options; else as the class says.
  void lock() { handle_.lock(std::nullopt, {}); }
  /// As `lock()`, until `stop` is requested.
  /// \return whether this object holds the names; false only after a stop.
  [[nodiscard]] bool lock(const std::stop_token& stop) { return handle_.lock(std::nullopt, stop); }
  /// Tries all names once.
  /// \return whether this object holds them now.
  [[nodiscard]] bool try_lock() { return handle_.lock(duration::zero(), {}); }
  /// Waits for at most `limit` in all, of any unit; zero and less: as `try_lock()`.
  /// \return whether this object holds the names now.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& limit,
                                  const std::stop_token& stop = {}) {
    return handle_.lock(detail::to_limit(limit), stop);
  }
  /// As `try_lock_for`, until a time point of any clock. If the clock is set meanwhile, its new time counts.
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& limit,
                                    const std::stop_token& stop = {}) {
    return detail::until(limit, stop, [&](duration left) { return try_lock_for(left, stop); });
  }
  /// Gives all names back: sent at once and together, never waited for, and retried in the background until
  /// the store confirms it or the leases have ended. Without kept holds it does nothing. See
  /// `mutex::unlock()` for a process that ends right after it.
  void unlock() noexcept { handle_.unlock(); }

  // The asynchronous forms. They are defined in <holdfast/async.hpp>, which documents tokens, signatures,
  // cancellation and errors for all of them. They complete with a lease_set.

  /// Waits until all names are acquired; for at most the `wait_limit` of the options, if they have one
  /// (errc::timeout).
  template <class Token = detail::default_token>
  auto async_acquire(Token&& token = Token{});
  /// Tries all names once. Completes with an inert set where another holds one of them.
  template <class Token = detail::default_token>
  auto async_try_acquire(Token&& token = Token{});
  /// Waits for at most `limit` in all, of any unit, from the start of the operation. Completes with an inert
  /// set where others held a name for all of that time.
  template <class Rep, class Period, class Token = detail::default_token>
  auto async_try_acquire_for(const std::chrono::duration<Rep, Period>& limit, Token&& token = Token{});
  /// As `async_try_acquire_for`, until a time point of any clock. The time left is read when the operation
  /// starts.
  template <class Clock, class Duration, class Token = detail::default_token>
  auto async_try_acquire_until(const std::chrono::time_point<Clock, Duration>& limit,
                               Token&& token = Token{});

  /// The fencing token of one name of the kept holds, also when it is lost. Does not ask the store.
  /// \throws holdfast::error errc::not_owner where no hold is kept here, or the set does not have the name;
  ///         errc::closed in a forked child.
  [[nodiscard]] fencing_token token(std::string_view name) const { return handle_.token(name); }
  /// The loss signal of the kept holds, as lease_set::lost().
  /// \throws holdfast::error errc::not_owner where no hold is kept here; errc::closed in a forked child.
  [[nodiscard]] std::stop_token lost() const { return handle_.lost(); }
  /// Fires when somebody asks one of the kept holds to be released, as lease_set::release_requested().
  /// \throws holdfast::error errc::not_owner where no hold is kept here; errc::closed in a forked child.
  [[nodiscard]] std::stop_token release_requested() const { return handle_.release_requested(); }
  /// Returns whether holds are kept here and all deadlines are ahead. Does not ask the store.
  [[nodiscard]] bool held() const noexcept { return handle_.held(); }
  /// The names and modes, in the order in which they were given.
  [[nodiscard]] const std::vector<lock_spec>& names() const noexcept { return handle_.names(); }

 private:
  detail::set_handle handle_;
};

}  // namespace holdfast
