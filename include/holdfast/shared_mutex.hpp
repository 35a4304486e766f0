#pragma once

#include <optional>
#include <stop_token>
#include <utility>

#include "holdfast/detail/handle.hpp"

namespace holdfast {

/// std::shared_timed_mutex across processes, as far as the store reaches, fair: readers and writers wait in
/// one queue, so a stream of readers never starves a writer.
///
/// Meets TimedLockable and SharedTimedLockable. Everything that `mutex` says of ownership, loss and errors
/// holds here. Several shared holds may be kept in one object; `unlock_shared()` gives back the oldest.
class HOLDFAST_EXPORT shared_mutex {
 public:
  shared_mutex(client& locks, std::string_view name) : handle_{locks, name, 0, std::nullopt, true} {}
  shared_mutex(client& locks, std::string_view name, const lock_options& options)
      : handle_{locks, name, 0, options, true} {}

  void lock() { handle_.lock({mode::exclusive, 1, std::nullopt}); }
  /// As mutex::lock(stop).
  [[nodiscard]] bool lock(std::stop_token stop) {
    return handle_.lock({mode::exclusive, 1, std::nullopt, std::move(stop)});
  }
  [[nodiscard]] bool try_lock() { return handle_.lock({mode::exclusive, 1, duration::zero()}); }
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& limit) {
    return handle_.lock({mode::exclusive, 1, detail::to_limit(limit)});
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& limit) {
    return detail::until(limit, [this](duration left) { return try_lock_for(left); });
  }
  void unlock() noexcept { handle_.unlock(mode::exclusive); }

  void lock_shared() { handle_.lock({mode::shared, 1, std::nullopt}); }
  [[nodiscard]] bool lock_shared(std::stop_token stop) {
    return handle_.lock({mode::shared, 1, std::nullopt, std::move(stop)});
  }
  [[nodiscard]] bool try_lock_shared() { return handle_.lock({mode::shared, 1, duration::zero()}); }
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& limit) {
    return handle_.lock({mode::shared, 1, detail::to_limit(limit)});
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration>& limit) {
    return detail::until(limit, [this](duration left) { return try_lock_shared_for(left); });
  }
  void unlock_shared() noexcept { handle_.unlock(mode::shared); }

  /// The writer becomes a reader without letting go (the name is Boost.Thread's): readers queued right
  /// behind come in, no writer comes between, the token stays. Waits for the store.
  /// \throws holdfast::error errc::not_owner, errc::lost, errc::unavailable, errc::unknown_outcome; the hold
  /// is then
  ///         what it was, and unlock() ends it. With errc::unknown_outcome readers may have come in already.
  void unlock_and_lock_shared() { handle_.downgrade(); }

  [[nodiscard]] lease acquire() { return *handle_.acquire({mode::exclusive, 1, std::nullopt}); }
  /// As mutex::acquire(stop).
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
  [[nodiscard]] lease acquire_shared() { return *handle_.acquire({mode::shared, 1, std::nullopt}); }
  [[nodiscard]] std::optional<lease> acquire_shared(std::stop_token stop) {
    return handle_.acquire({mode::shared, 1, std::nullopt, std::move(stop)});
  }
  [[nodiscard]] std::optional<lease> try_acquire_shared() {
    return handle_.acquire({mode::shared, 1, duration::zero()});
  }
  template <class Rep, class Period>
  [[nodiscard]] std::optional<lease> try_acquire_shared_for(const std::chrono::duration<Rep, Period>& limit) {
    return handle_.acquire({mode::shared, 1, detail::to_limit(limit)});
  }

  /// Of the newest kept hold. \throws holdfast::error errc::not_owner where there is none.
  [[nodiscard]] fencing_token token() const { return handle_.token(); }
  [[nodiscard]] std::stop_token lost() const { return handle_.lost(); }
  /// Whether a hold is kept here and the deadline of the newest is ahead.
  [[nodiscard]] bool held() const noexcept { return handle_.held(); }
  [[nodiscard]] const std::string& name() const noexcept { return handle_.name(); }

  // Asynchronous forms, defined in <holdfast/async.hpp>.
  template <class Token>
  auto async_acquire(Token&& token);
  template <class Token>
  auto async_try_acquire(Token&& token);
  template <class Rep, class Period, class Token>
  auto async_try_acquire_for(const std::chrono::duration<Rep, Period>& limit, Token&& token);
  template <class Token>
  auto async_acquire_shared(Token&& token);
  template <class Token>
  auto async_try_acquire_shared(Token&& token);
  template <class Rep, class Period, class Token>
  auto async_try_acquire_shared_for(const std::chrono::duration<Rep, Period>& limit, Token&& token);
  // Without a token they are awaited, and throw holdfast::error.
  auto async_acquire();
  auto async_try_acquire();
  template <class Rep, class Period>
  auto async_try_acquire_for(const std::chrono::duration<Rep, Period>& limit);
  auto async_acquire_shared();
  auto async_try_acquire_shared();
  template <class Rep, class Period>
  auto async_try_acquire_shared_for(const std::chrono::duration<Rep, Period>& limit);

 private:
  detail::handle handle_;
};

}  // namespace holdfast
