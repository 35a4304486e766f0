#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
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

/// std::barrier across processes, as far as the store reaches: `expected` parties wait for one another, phase
/// after phase. Each party is an object of its own, with the same name and the same `expected`, in whatever
/// process.
///
///     holdfast::barrier round{locks, "round", 3};
///     while (more()) {
///       compute();
///       round.arrive_and_wait();  // returns when all three have computed
///     }
///
/// *Phases* are counted from zero, as long as a party has the name. A new object joins the phase that the
/// others wait for, so a process that is started anew takes the place of one that died before it arrived.
///
/// *Parties that die.* One that dies before it arrives is missing: the others wait, until their limit, for
/// one that comes in its place; `inspect()` and the message of errc::timeout name those who have arrived. One
/// that dies after it has arrived counts as arrived until its ttl ends. Wait one ttl before you restart a
/// party that may have arrived: the dead one and the new one are two parties, so the phase would be complete
/// although another party is missing. After a crash of all, wait one ttl, or take another name. On ZooKeeper
/// the arrival of a dead party ends with its session: wait for `session_timeout`, and give all parties the
/// same one, or a slower party may miss that a faster one has gone on. One whose arrival is lost
/// while it waits (its ttl was not renewed, or it was ended by force) gets errc::lost, and arrives anew with
/// its next call; others may have counted the lost arrival, and may have passed the phase.
///
/// *Leaving.* A party that has passed its last phase destroys its object. What it leaves at the store, so
/// that slower parties see that the phase was passed, ends with its ttl. There is no `arrive_and_drop`: the
/// number of parties of a phase is what all objects were told, and no store keeps another number for as long
/// as the others go on. There is no completion function.
///
/// *Stores.* Those of `latch`. All calls but `inspect()` fail with errc::invalid_argument elsewhere.
///
/// *Options.* A barrier has no `grace` and no `at_least`: the constructor refuses them, also as options of
/// the client. A party that has left would go on counting.
///
/// *Names.* A party holds one or two permits of the name, of a capacity of 1000 times `expected`, so that
/// what dead parties have left takes nobody's place. Give a barrier a name that no other lock has. More
/// parties than `expected` are a mistake of the program, as in the standard: phases are complete too early.
///
/// *Cost.* A party that arrives looks at the claims of all others after each arrival, at most a hundred times
/// a second: made for up to some hundred parties. Claims are always renewed, whatever `lock_options::renewal`
/// says.
///
/// *Threads.* One call at a time on an object (errc::invalid_argument), from any thread; `inspect()` and
/// `name()` at any time. The object must outlive all calls that block. In a child after fork() it is not
/// usable.
///
/// *Errors.* As `mutex`; errc::wrong_type where the name is in use with another `expected` or as another
/// lock. After an error or a timeout an arrival that the store has stays: the next call waits for the same
/// phase. errc::unknown_outcome of a call with a limit of its own: all have arrived, and the store did not
/// confirm in time that this party has passed.
class HOLDFAST_EXPORT barrier {
 public:
  /// The largest number of parties.
  [[nodiscard]] static constexpr std::ptrdiff_t max() noexcept { return 1'000'000; }

  /// Does not ask the store anything yet. The options are those of the client.
  /// \param locks the client; its closing ends the calls that wait.
  /// \param name 1 to 512 bytes of UTF-8 without control characters.
  /// \param expected the number of parties: 1 to `max()`.
  /// \throws holdfast::error errc::invalid_name, errc::invalid_argument.
  barrier(client& locks, std::string_view name, std::ptrdiff_t expected)
      : handle_{detail::rendezvous_handle::type::barrier, locks, name, expected, std::nullopt} {}
  /// As above, with options of its own in place of the client's. `ttl` is how long a dead party counts.
  barrier(client& locks, std::string_view name, std::ptrdiff_t expected, const lock_options& options)
      : handle_{detail::rendezvous_handle::type::barrier, locks, name, expected, options} {}

  /// Arrives at the end of the phase, and waits until all parties have.
  /// \return the number of the phase that is complete.
  /// \throws holdfast::error errc::timeout after the `wait_limit` of the options; errc::lost, see above; else
  ///         as the class says.
  std::uint64_t arrive_and_wait() { return *handle_.meet({}); }
  /// As `arrive_and_wait()`, until `stop` is requested. The arrival stays then: the next call waits for the
  /// same phase.
  /// \return the phase; empty only after a stop.
  std::optional<std::uint64_t> arrive_and_wait(const std::stop_token& stop) {
    return handle_.meet({.stop = stop});
  }
  /// Arrives, and waits for at most `limit`, of any unit. The arrival stays: the next call waits for the same
  /// phase. The answer to a request under way may take longer: as long as the retry limit of the options, a
  /// second at least.
  /// \param stop ends the wait early, if it is requested.
  /// \return the phase; empty where somebody was missing for all of that time, or after a stop.
  template <class Rep, class Period>
  [[nodiscard]] std::optional<std::uint64_t> arrive_and_wait_for(
      const std::chrono::duration<Rep, Period>& limit, const std::stop_token& stop = {}) {
    return handle_.meet({.limit = detail::to_limit(limit), .stop = stop});
  }
  /// As `arrive_and_wait_for`, until a time point of any clock. If the clock is set meanwhile, its new time
  /// counts.
  template <class Clock, class Duration>
  [[nodiscard]] std::optional<std::uint64_t> arrive_and_wait_until(
      const std::chrono::time_point<Clock, Duration>& limit, const std::stop_token& stop = {}) {
    return detail::until(limit, stop, [&](duration left) { return arrive_and_wait_for(left, stop); });
  }

  /// Returns the phase that is not complete yet, and who has arrived there. Waits for the store's answer, as
  /// `client::inspect`.
  /// \throws holdfast::error as `client::inspect`.
  [[nodiscard]] arrivals inspect() const { return handle_.inspect(); }
  /// The name of the barrier.
  [[nodiscard]] const std::string& name() const noexcept { return handle_.name(); }

  // The asynchronous forms; see <holdfast/async.hpp>.

  /// Arrives, and waits until all parties have; for at most the `wait_limit` of the options, if they have one
  /// (errc::timeout). Completes with the number of the phase.
  template <class Token = detail::default_token>
  auto async_arrive_and_wait(Token&& token = Token{});
  /// Arrives, and waits for at most `limit`, of any unit, from the start of the operation. Completes with a
  /// std::optional: the phase; empty where somebody was missing for all of that time.
  template <class Rep, class Period, class Token = detail::default_token>
  auto async_arrive_and_wait_for(const std::chrono::duration<Rep, Period>& limit, Token&& token = Token{});
  /// As `async_arrive_and_wait_for`, until a time point of any clock, read when the operation starts.
  template <class Clock, class Duration, class Token = detail::default_token>
  auto async_arrive_and_wait_until(const std::chrono::time_point<Clock, Duration>& limit,
                                   Token&& token = Token{});

 private:
  detail::rendezvous_handle handle_;
};

}  // namespace holdfast
