// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "holdfast/candidate.hpp"
#include "holdfast/client.hpp"
#include "holdfast/export.hpp"
#include "holdfast/lease.hpp"
#include "holdfast/lease_set.hpp"
#include "holdfast/options.hpp"

// The parts that the lock types share. Not for users: names and shapes here may change with any version.

namespace holdfast::detail {

/// One call of an acquiring verb: the mode of the hold, and the longest wait for it.
struct lock_request {
  holdfast::mode mode = holdfast::mode::exclusive;
  std::int64_t permits = 1;
  /// Empty: as the lock's options say. Zero: do not wait.
  std::optional<duration> limit;
  /// Ends the wait. Of calls that block.
  std::stop_token stop{};
};

/// What an operation on an election has besides a lease.
struct election_outcome {
  std::string value;                            ///< of the term
  std::shared_ptr<const std::string> metadata;  ///< of its claim
  std::vector<candidate> candidates;            ///< the participants; of `leader()` that one, if there is one
};

/// How an asynchronous operation ended. A failed acquisition comes with a code and no lease; a request with a
/// limit of its own that was not granted, because another holds the name, comes with neither.
struct outcome {
  std::error_code code;
  std::string detail;  ///< as error::detail(); empty without a code
  lease granted;
  lease_set granted_set{};                       ///< of an operation on several names
  std::shared_ptr<election_outcome> election{};  ///< of an operation on an election
  std::size_t count = 0;                         ///< of a request to release: the holders asked
};

/// Receives the end of an asynchronous operation, exactly once, on a thread of the client and under none of
/// its locks.
class HOLDFAST_EXPORT completion {
 public:
  completion() = default;
  completion(const completion&) = delete;
  completion& operator=(const completion&) = delete;
  virtual ~completion();
  virtual void complete(outcome ended) noexcept = 0;
  /// Whether it is the library's own and runs no user code. Then whatever thread has the end calls
  /// `complete`, also a blocked caller's. See client_core::start.
  [[nodiscard]] virtual bool is_internal() const noexcept { return false; }
};

/// A pending asynchronous operation; a handle that may outlive it.
class HOLDFAST_EXPORT pending {
 public:
  /// Asks for an early end: the operation completes with errc::cancelled, unless it is already complete,
  /// and what an acquisition may have left at the store is withdrawn. Any thread; never waits.
  void cancel() noexcept;

  std::weak_ptr<client_core> owner;
  std::uint64_t id = 0;
};

/// One name on one client, and the holds that the standard's verbs keep in the lock object itself.
class HOLDFAST_EXPORT handle {
 public:
  /// \param capacity zero for everything but semaphores.
  /// \param shareable readers may share it.
  /// \throws holdfast::error errc::invalid_name, errc::invalid_argument.
  handle(client& locks, std::string_view name, std::int64_t capacity,
         const std::optional<lock_options>& options, bool shareable = false);
  ~handle();
  handle(const handle&) = delete;
  handle& operator=(const handle&) = delete;

  /// Empty only when a request with a limit of its own was not granted within it, or was stopped.
  [[nodiscard]] std::optional<lease> acquire(const lock_request& request);
  pending async_acquire(const lock_request& request, std::unique_ptr<completion> handler);

  /// Acquires and keeps the lease in the handle. False as `acquire` is empty.
  bool lock(const lock_request& request);
  /// Releases the `count` oldest kept holds of that mode without waiting for the store. If fewer are kept,
  /// releases those.
  void unlock(mode m, std::ptrdiff_t count = 1) noexcept;
  /// Downgrades the kept exclusive hold and keeps it as a shared one.
  void downgrade();

  /// The newest kept hold; errc::not_owner where there is none.
  [[nodiscard]] fencing_token token() const;
  [[nodiscard]] std::stop_token lost() const;
  [[nodiscard]] std::stop_token release_requested() const;
  [[nodiscard]] bool held() const noexcept;
  [[nodiscard]] const std::string& name() const noexcept;
  [[nodiscard]] std::int64_t capacity() const noexcept;
  /// Whether this process is a child of the one that made it, after fork(). Nothing is held here then, and no
  /// mutex of it may be touched.
  [[nodiscard]] bool is_inherited() const noexcept;
  /// \throws holdfast::error errc::closed after the client was closed and in a forked child.
  void require_open() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Starts `lease.release()` and `lease.downgrade()` without waiting; the lease comes back through the
/// completion: empty after a release, still held after a downgrade.
HOLDFAST_EXPORT pending async_release(lease held, std::unique_ptr<completion> handler);
HOLDFAST_EXPORT pending async_downgrade(lease held, std::unique_ptr<completion> handler);
/// Completes when the lease is lost; see client_core::start_wait_lost.
HOLDFAST_EXPORT pending async_wait_lost(const lease& held, std::unique_ptr<completion> handler);

/// Starts `client::request_release()` without waiting; the count comes through the completion.
HOLDFAST_EXPORT pending async_request_release(const client& locks, std::string_view name,
                                              std::optional<fencing_token> token, std::string_view reason,
                                              std::unique_ptr<completion> handler);

/// Longer than any wait: "for ever".
inline constexpr duration longest_limit = std::chrono::hours{24 * 365 * 100};

/// Converts a limit of any unit to `duration`: rounded up, so that no wait ends early, and bounded, so that
/// `duration::max()` means "for ever" instead of overflowing.
template <class Rep, class Period>
[[nodiscard]] constexpr duration to_limit(const std::chrono::duration<Rep, Period>& limit) {
  using seconds = std::chrono::duration<double>;
  if (limit <= limit.zero()) return duration::zero();
  if (std::chrono::duration_cast<seconds>(limit) >= seconds{longest_limit}) return longest_limit;
  return std::chrono::ceil<duration>(limit);
}

/// The time until a time point of any clock; zero when it has passed.
template <class Clock, class Duration>
[[nodiscard]] duration time_left(const std::chrono::time_point<Clock, Duration>& limit) {
  using seconds = std::chrono::duration<double>;
  const auto now = Clock::now();
  // Roughly first: in the unit of the clock, a far time point of another unit would overflow.
  const seconds about = std::chrono::duration_cast<seconds>(limit.time_since_epoch()) -
                        std::chrono::duration_cast<seconds>(now.time_since_epoch());
  if (about >= seconds{longest_limit}) return longest_limit;
  if (about < -seconds{longest_limit}) return duration::zero();
  return limit > now ? to_limit(limit - now) : duration::zero();
}

/// Waits until a time point of any clock, or a stop: for the time that is left by that clock, read again
/// until it has passed, because a clock that is set during a wait makes the first answer wrong.
template <class Clock, class Duration, class Try>
[[nodiscard]] auto until(const std::chrono::time_point<Clock, Duration>& limit, const std::stop_token& stop,
                         Try attempt) {
  auto result = attempt(time_left(limit));
  while (!result && !stop.stop_requested() && time_left(limit) > duration::zero())
    result = attempt(time_left(limit));
  return result;
}

}  // namespace holdfast::detail
