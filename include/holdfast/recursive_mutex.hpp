#pragma once

#include <cstddef>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "holdfast/detail/handle.hpp"

namespace holdfast {

/// std::recursive_timed_mutex across processes, as far as the store reaches: the thread that holds may lock
/// again, and the name is given back with its last unlock. Only the first lock and the last unlock reach the
/// store.
///
/// The one type whose ownership is a thread of this process: `unlock()` by another thread does nothing.
/// Meets TimedLockable. Locking again what has been lost meanwhile fails with errc::lost; the earlier
/// locks are still to be unlocked. Asynchronous code has no thread to count by: use `mutex` there, or the
/// asynchronous forms here, each of which is a claim of its own and does not nest.
class HOLDFAST_EXPORT recursive_mutex {
 public:
  recursive_mutex(client& locks, std::string_view name) : handle_{locks, name, 0, std::nullopt} {}
  recursive_mutex(client& locks, std::string_view name, const lock_options& options)
      : handle_{locks, name, 0, options} {}

  void lock() { lock(std::nullopt, {}); }
  /// As mutex::lock(stop).
  [[nodiscard]] bool lock(std::stop_token stop) { return lock(std::nullopt, std::move(stop)); }
  [[nodiscard]] bool try_lock() { return lock(duration::zero(), {}); }
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& limit) {
    return lock(detail::to_limit(limit), {});
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& limit) {
    return detail::until(limit, [this](duration left) { return try_lock_for(left); });
  }
  void unlock() noexcept;

  /// \throws holdfast::error errc::not_owner where nothing is held.
  [[nodiscard]] fencing_token token() const { return handle_.token(); }
  [[nodiscard]] std::stop_token lost() const { return handle_.lost(); }
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
  bool lock(std::optional<duration> limit, std::stop_token stop);

  detail::handle handle_;
  mutable std::mutex guard_;  // of the two below; never held while the store is asked
  std::thread::id owner_;
  std::size_t depth_ = 0;
};

}  // namespace holdfast
