#pragma once

#include <cstddef>
#include <optional>
#include <stop_token>
#include <utility>

#include "holdfast/detail/handle.hpp"

namespace holdfast {

/// std::counting_semaphore across processes, as far as the store reaches: at most `capacity` permits of a
/// name are out at a time, first come first served; a large want at the head of the queue is not starved by
/// small ones.
///
/// The std verbs keep permits in this object, one each; a permit whose holder died comes back after its
/// ttl, which no std::counting_semaphore could promise. Unlike std's, `release()` gives back only what
/// this object acquired: permits are leases, and nobody can release another's.
///
/// All users of a name must say the same capacity: while it is in use, another one fails with
/// errc::wrong_type. Loss and errors are those of `mutex`.
class HOLDFAST_EXPORT counting_semaphore {
 public:
  /// \param capacity how many permits there are: 1 to 1 000 000 000.
  counting_semaphore(client& locks, std::string_view name, std::ptrdiff_t capacity)
      : handle_{locks, name, checked(capacity), std::nullopt} {}
  counting_semaphore(client& locks, std::string_view name, std::ptrdiff_t capacity,
                     const lock_options& options)
      : handle_{locks, name, checked(capacity), options} {}

  [[nodiscard]] std::ptrdiff_t max() const noexcept {
    return static_cast<std::ptrdiff_t>(handle_.capacity());
  }

  void acquire() { handle_.lock({mode::permits, 1, std::nullopt}); }
  /// Until `stop` is requested. \return whether a permit is kept; false only after a stop.
  [[nodiscard]] bool acquire(std::stop_token stop) {
    return handle_.lock({mode::permits, 1, std::nullopt, std::move(stop)});
  }
  [[nodiscard]] bool try_acquire() { return handle_.lock({mode::permits, 1, duration::zero()}); }
  template <class Rep, class Period>
  [[nodiscard]] bool try_acquire_for(const std::chrono::duration<Rep, Period>& limit) {
    return handle_.lock({mode::permits, 1, detail::to_limit(limit)});
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_acquire_until(const std::chrono::time_point<Clock, Duration>& limit) {
    return detail::until(limit, [this](duration left) { return try_acquire_for(left); });
  }
  /// Gives back the `count` oldest permits kept here, without waiting; fewer kept: those.
  void release(std::ptrdiff_t count = 1) noexcept { handle_.unlock(mode::permits, count); }

  /// `count` permits as one lease, all or none.
  /// \throws holdfast::error errc::invalid_argument unless 1 <= count <= max().
  [[nodiscard]] lease acquire_permits(std::ptrdiff_t count) {
    return *handle_.acquire({mode::permits, count, std::nullopt});
  }
  /// Empty only after a stop.
  [[nodiscard]] std::optional<lease> acquire_permits(std::ptrdiff_t count, std::stop_token stop) {
    return handle_.acquire({mode::permits, count, std::nullopt, std::move(stop)});
  }
  [[nodiscard]] std::optional<lease> try_acquire_permits(std::ptrdiff_t count) {
    return handle_.acquire({mode::permits, count, duration::zero()});
  }
  template <class Rep, class Period>
  [[nodiscard]] std::optional<lease> try_acquire_permits_for(
      std::ptrdiff_t count, const std::chrono::duration<Rep, Period>& limit) {
    return handle_.acquire({mode::permits, count, detail::to_limit(limit)});
  }

  /// Of the newest kept permit. \throws holdfast::error errc::not_owner where there is none.
  [[nodiscard]] fencing_token token() const { return handle_.token(); }
  [[nodiscard]] std::stop_token lost() const { return handle_.lost(); }
  [[nodiscard]] bool held() const noexcept { return handle_.held(); }
  [[nodiscard]] const std::string& name() const noexcept { return handle_.name(); }

  // Asynchronous forms, defined in <holdfast/async.hpp>.
  template <class Token>
  auto async_acquire_permits(std::ptrdiff_t count, Token&& token);
  template <class Token>
  auto async_try_acquire_permits(std::ptrdiff_t count, Token&& token);
  template <class Rep, class Period, class Token>
  auto async_try_acquire_permits_for(std::ptrdiff_t count, const std::chrono::duration<Rep, Period>& limit,
                                     Token&& token);
  // Without a token they are awaited, and throw holdfast::error.
  auto async_acquire_permits(std::ptrdiff_t count);
  auto async_try_acquire_permits(std::ptrdiff_t count);
  template <class Rep, class Period>
  auto async_try_acquire_permits_for(std::ptrdiff_t count, const std::chrono::duration<Rep, Period>& limit);

 private:
  static std::int64_t checked(std::ptrdiff_t capacity);

  detail::handle handle_;
};

}  // namespace holdfast
