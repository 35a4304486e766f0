#pragma once

#include <optional>
#include <stop_token>
#include <utility>

#include "holdfast/detail/handle.hpp"

namespace holdfast {

/// std::timed_mutex across processes, as far as the store reaches: one holder of a name at a time, first come
/// first served.
///
/// Meets TimedLockable. Ownership is this object, never a thread: any thread may unlock it. Two objects
/// for the same name exclude each other, in one process too; a second `lock()` on the same object waits
/// for its `unlock()`. Names are shared with `shared_mutex` and `recursive_mutex`, which exclude and are
/// excluded; a name in use as a semaphore fails with errc::wrong_type.
///
/// *Several at once.* std::scoped_lock takes any number of them, by letting go and trying again. Name them in
/// the same order everywhere. Threads that name them in opposite orders do not deadlock, but may take turns
/// in vain: each gets the name that the other has just let go of. That goes on for as long as their steps
/// take equally long, and there is no bound for it. `shared_mutex` and `recursive_mutex` behave alike.
///
/// *Loss.* A kept hold may be lost as any lease may (see `lease`): `lost()` and `held()` tell, and the
/// object stays locked for its own users until `unlock()`, so that nobody unlocks another's hold.
///
/// *Errors.* The acquiring functions throw holdfast::error: errc::unavailable when the store does not
/// answer within the retry policy, or could not be asked by the end of a shorter limit,
/// errc::unknown_outcome, errc::wrong_type, errc::permission_denied, errc::closed; errc::lost when the answer
/// to a grant took longer than the ttl lasts, three times in turn; and errc::timeout from `lock()` and
/// `acquire()` after a `wait_limit`. What an abandoned attempt may have left at the store is withdrawn in the
/// background.
class HOLDFAST_EXPORT mutex {
 public:
  /// Does not ask the store anything yet. \throws holdfast::error errc::invalid_name.
  mutex(client& locks, std::string_view name) : handle_{locks, name, 0, std::nullopt} {}
  mutex(client& locks, std::string_view name, const lock_options& options)
      : handle_{locks, name, 0, options} {}

  /// Waits until this object holds the name.
  void lock() { handle_.lock({mode::exclusive, 1, std::nullopt}); }
  /// The same, until `stop` is requested; then the place in the queue is given up.
  /// \return whether this object holds the name; false only after a stop.
  [[nodiscard]] bool lock(std::stop_token stop) {
    return handle_.lock({mode::exclusive, 1, std::nullopt, std::move(stop)});
  }
  /// Asks once. \return whether this object holds the name now.
  [[nodiscard]] bool try_lock() { return handle_.lock({mode::exclusive, 1, duration::zero()}); }
  /// Waits for at most `limit`, in the queue.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& limit) {
    return handle_.lock({mode::exclusive, 1, detail::to_limit(limit)});
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& limit) {
    return detail::until(limit, [this](duration left) { return try_lock_for(left); });
  }
  /// Gives the name back: sent at once, never waited for, and retried in the background until the store
  /// confirms it or the lease has ended. Without a kept hold it does nothing.
  void unlock() noexcept { handle_.unlock(mode::exclusive); }

  /// As `lock()`, but the hold is the returned lease and not kept in this object.
  [[nodiscard]] lease acquire() { return *handle_.acquire({mode::exclusive, 1, std::nullopt}); }
  /// As `lock(stop)`. \return empty only after a stop.
  [[nodiscard]] std::optional<lease> acquire(std::stop_token stop) {
    return handle_.acquire({mode::exclusive, 1, std::nullopt, std::move(stop)});
  }
  [[nodiscard]] std::optional<lease> try_acquire() {
    return handle_.acquire({mode::exclusive, 1, duration::zero()});
  }
  template <class Rep, class Period>
  [[nodiscard]] std::optional<lease> try_acquire_for(const std::chrono::duration<Rep, Period>& limit) {
    return handle_.acquire({mode::exclusive, 1, detail::to_limit(limit)});
  }
  template <class Clock, class Duration>
  [[nodiscard]] std::optional<lease> try_acquire_until(
      const std::chrono::time_point<Clock, Duration>& limit) {
    return detail::until(limit, [this](duration left) { return try_acquire_for(left); });
  }

  /// Of the kept hold. \throws holdfast::error errc::not_owner where there is none.
  [[nodiscard]] fencing_token token() const { return handle_.token(); }
  [[nodiscard]] std::stop_token lost() const { return handle_.lost(); }
  /// Whether a hold is kept here and its deadline is ahead.
  [[nodiscard]] bool held() const noexcept { return handle_.held(); }
  [[nodiscard]] const std::string& name() const noexcept { return handle_.name(); }

  // Asynchronous forms, defined in <holdfast/async.hpp>.
  template <class Token>
  auto async_acquire(Token&& token);
  template <class Token>
  auto async_try_acquire(Token&& token);
  template <class Rep, class Period, class Token>
  auto async_try_acquire_for(const std::chrono::duration<Rep, Period>& limit, Token&& token);
  // Without a token they are awaited, and throw holdfast::error.
  auto async_acquire();
  auto async_try_acquire();
  template <class Rep, class Period>
  auto async_try_acquire_for(const std::chrono::duration<Rep, Period>& limit);

 private:
  detail::handle handle_;
};

}  // namespace holdfast
