#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "holdfast/arrivals.hpp"
#include "holdfast/client.hpp"
#include "holdfast/detail/locks.hpp"
#include "holdfast/detail/rendezvous_handle.hpp"
#include "holdfast/export.hpp"
#include "holdfast/options.hpp"

namespace holdfast {

/// std::latch across processes, as far as the store reaches: it opens when `expected` has been counted down
/// to zero. Every process makes an object of its own, with the same name and the same `expected`.
///
///     holdfast::latch ready{locks, "ready", 3};
///     ready.count_down();                       // each of three workers
///     ready.wait();                             // whoever waits for all of them
///
/// *How long it lasts.* Nothing stays at the store for ever, so a count has a ttl. It is renewed as long as
/// the latch object that made it lives. After that it stays until its ttl ends, which counts from the last
/// renewal: usually for two thirds of the ttl at least. That is so, too, when the process ends, is killed, or
/// closes its client. With `lock_options::renewal(false)` its ttl begins when it is counted. The latch is
/// open while all counts are there. When the first of them has ended it is closed again, and no longer the
/// same latch: give each event a name of its own, and a ttl of twice what the slowest waiter may take.
///
/// *Counts.* The store refuses a count beyond `expected`. A call whose count was not confirmed fails: with
/// errc::unknown_outcome where it may have counted, else with what hindered it. The count
/// may then stand until it is withdrawn in the background. The next call of the same object with the same
/// number replaces it, and both count once. A count that was confirmed may be lost later, as any lease. Then
/// the waits of its object fail with errc::lost unless the latch is open, until the object counts down
/// again; a call with the same number replaces the count.
///
/// *Stores.* All but Redlock, because a majority cannot count permits, and `mode=session`, because there a
/// count would end with the session of the client that made it: all calls but `inspect()` fail with
/// errc::invalid_argument. On ZooKeeper each one that is counted is a node: count hundreds, not thousands. A
/// count lines up there with other claims of its name, and a process that is killed or stopped while it is
/// first holds up those behind it until its session ends. The count of a killed process stays at least until
/// then, also where its ttl is shorter.
///
/// *Options.* A latch has no `grace` and no `at_least`: the constructor refuses them, also as options of the
/// client.
///
/// *Names.* The counts are permits of a `counting_semaphore` of that name and capacity. Give a latch a name
/// that no other lock has.
///
/// *Threads.* All members may be called from any thread at any time, any number at once. The object must
/// outlive all calls that block. In a child after fork() it is not usable.
///
/// *Errors.* As `mutex`; errc::wrong_type where the name is in use with another `expected` or as another
/// lock.
class HOLDFAST_EXPORT latch {
 public:
  /// The largest `expected`.
  [[nodiscard]] static constexpr std::ptrdiff_t max() noexcept { return 1'000'000'000; }

  /// Does not ask the store anything yet. The options are those of the client.
  /// \param locks the client; its closing ends the calls that wait, and leaves the counts at the store.
  /// \param name 1 to 512 bytes of UTF-8 without control characters.
  /// \param expected how much is counted down: 1 to `max()`.
  /// \throws holdfast::error errc::invalid_name, errc::invalid_argument.
  latch(client& locks, std::string_view name, std::ptrdiff_t expected)
      : handle_{detail::rendezvous_handle::type::latch, locks, name, expected, std::nullopt} {}
  /// As above, with options of its own in place of the client's.
  latch(client& locks, std::string_view name, std::ptrdiff_t expected, const lock_options& options)
      : handle_{detail::rendezvous_handle::type::latch, locks, name, expected, options} {}

  /// Counts down by `n`, and waits for the store's confirmation, not for others.
  /// \param n 1 to `expected`.
  /// \throws holdfast::error errc::invalid_argument where fewer than `n` are left; errc::unknown_outcome
  ///         where the store has not confirmed it within the `wait_limit` of the options, but no sooner than
  ///         the retry limit, see above; else as the class says.
  void count_down(std::ptrdiff_t n = 1) { handle_.meet({.count = n, .waits = false}); }
  /// Asks the store once. The answer may take as long as the retry limit of the options, a second at least.
  /// \return whether the latch is open.
  [[nodiscard]] bool try_wait() const { return handle_.meet({.limit = duration::zero()}).has_value(); }
  /// Waits until the latch is open.
  /// \throws holdfast::error errc::timeout after the `wait_limit` of the options; the message names those who
  ///         have counted. Else as the class says.
  void wait() const { handle_.meet({}); }
  /// As `wait()`, until `stop` is requested.
  /// \return whether the latch is open; false only after a stop.
  [[nodiscard]] bool wait(const std::stop_token& stop) const {
    return handle_.meet({.stop = stop}).has_value();
  }
  /// Waits for at most `limit`, of any unit; zero and less: as `try_wait()`. The answer to the last look may
  /// take longer: as long as the retry limit of the options, a second at least.
  /// \param stop ends the wait early, if it is requested.
  /// \return whether the latch is open.
  template <class Rep, class Period>
  [[nodiscard]] bool wait_for(const std::chrono::duration<Rep, Period>& limit,
                              const std::stop_token& stop = {}) const {
    return handle_.meet({.limit = detail::to_limit(limit), .stop = stop}).has_value();
  }
  /// As `wait_for`, until a time point of any clock. If the clock is set meanwhile, its new time counts.
  template <class Clock, class Duration>
  [[nodiscard]] bool wait_until(const std::chrono::time_point<Clock, Duration>& limit,
                                const std::stop_token& stop = {}) const {
    return detail::until(limit, stop, [&](duration left) { return wait_for(left, stop); });
  }
  /// Counts down by `n`, then waits until the latch is open.
  /// \throws holdfast::error as `count_down()` and `wait()`. After errc::timeout the count stays: only the
  ///         wait for the others was too long.
  void arrive_and_wait(std::ptrdiff_t n = 1) { handle_.meet({.count = n}); }

  /// Returns how many have been counted, and by whom. Waits for the store's answer, as `client::inspect`.
  /// \throws holdfast::error as `client::inspect`.
  [[nodiscard]] arrivals inspect() const { return handle_.inspect(); }
  /// The name of the latch.
  [[nodiscard]] const std::string& name() const noexcept { return handle_.name(); }

  // The asynchronous forms; see <holdfast/async.hpp>.

  /// Counts down by `n`. Completes with the store's confirmation.
  template <class Token = detail::default_token>
  auto async_count_down(std::ptrdiff_t n, Token&& token = Token{});
  /// Waits until the latch is open; for at most the `wait_limit` of the options, if they have one
  /// (errc::timeout).
  template <class Token = detail::default_token>
  auto async_wait(Token&& token = Token{}) const;
  /// Waits for at most `limit`, of any unit, from the start of the operation. Completes with a bool: whether
  /// the latch is open.
  template <class Rep, class Period, class Token = detail::default_token>
  auto async_wait_for(const std::chrono::duration<Rep, Period>& limit, Token&& token = Token{}) const;
  /// As `async_wait_for`, until a time point of any clock, read when the operation starts.
  template <class Clock, class Duration, class Token = detail::default_token>
  auto async_wait_until(const std::chrono::time_point<Clock, Duration>& limit, Token&& token = Token{}) const;
  /// Counts down by `n`, then waits as `async_wait()`.
  template <class Token = detail::default_token>
  auto async_arrive_and_wait(std::ptrdiff_t n, Token&& token = Token{});

 private:
  detail::rendezvous_handle handle_;
};

}  // namespace holdfast
