// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/candidate.hpp"
#include "holdfast/client.hpp"
#include "holdfast/detail/election_handle.hpp"
#include "holdfast/detail/locks.hpp"
#include "holdfast/export.hpp"
#include "holdfast/options.hpp"
#include "holdfast/term.hpp"

namespace holdfast {

/// Elects one of many processes, as far as the store reaches: at most one leads at a time, and the others
/// stand by, first come first served. The leader has a value, such as its address, that all can read.
///
///     holdfast::election scheduler{locks, "scheduler"};
///     auto term = scheduler.campaign("10.0.0.7:8080");  // waits until it is elected
///     while (term.held()) run_next_job(term.token());
///
/// *Guarantee.* That of an exclusive `lease` (see `term`). A leader that dies, or that the store does not
/// hear, is followed by the first standby when its ttl is over; one that resigns, at once. A leader that
/// cannot renew steps down at its deadline, before another begins.
///
/// *Names.* An election excludes, and is excluded by, a `mutex` of the same name, which does not count as a
/// leader. On ZooKeeper the nodes are those of Curator's LeaderLatch, with `layout=kazoo` of kazoo's
/// Election, so that clients of those take part. Give an election a name that no mutex has.
///
/// *Standing by.* The errors of `mutex` end a campaign at its beginning. Once a candidate is in the queue, it
/// stays: a store that is out of reach, of memory or of disk space, or refuses it for lack of rights, is
/// asked again with the pauses of `lock_options::retry()`, for as long as it takes.
///
/// *Values.* At most 4096 bytes, of any kind. `term::proclaim()` replaces the value of the leader.
///
/// *Threads.* All members may be called from any thread at any time. The object must outlive all calls that
/// block. Each campaign is a candidate of its own, also of one object.
///
/// *Errors.* Campaigns throw as the acquiring functions of `mutex` do, and errc::invalid_argument where the
/// options, also those of the client, have `at_least`.
class HOLDFAST_EXPORT election {
 public:
  /// The most bytes of a value.
  static constexpr std::size_t longest_value = 4096;

  /// Does not ask the store anything yet. The options are those of the client.
  /// \param locks the client; it may be closed or destroyed before the election, which then elects nobody.
  /// \param name 1 to 512 bytes of UTF-8 without control characters.
  /// \throws holdfast::error errc::invalid_name.
  election(client& locks, std::string_view name) : handle_{locks, name, std::nullopt} {}
  /// As above, with options of its own in place of the client's. Nobody else is elected for
  /// `ttl` after the last renewal of a leader that died, and for `grace` after that.
  election(client& locks, std::string_view name, const lock_options& options)
      : handle_{locks, name, options} {}

  /// Stands by until this candidate is elected.
  /// \param value what others see of the leader: at most `longest_value` bytes, of any kind.
  /// \throws holdfast::error errc::invalid_argument for a value that is too long; errc::timeout after the
  ///         `wait_limit` of the options; else as the class says.
  [[nodiscard]] term campaign(std::string_view value) { return *handle_.campaign(value, std::nullopt, {}); }
  /// As `campaign()`, until `stop` is requested.
  /// \return the term; empty only after a stop.
  [[nodiscard]] std::optional<term> campaign(std::string_view value, const std::stop_token& stop) {
    return handle_.campaign(value, std::nullopt, stop);
  }
  /// Leads if nobody leads or stands by; does not stand by.
  /// \return the term; empty where another leads or stands by.
  [[nodiscard]] std::optional<term> try_campaign(std::string_view value) {
    return handle_.campaign(value, duration::zero(), {});
  }
  /// Stands by for at most `limit`, of any unit; zero and less: as `try_campaign()`.
  /// \return the term; empty where others led for all of that time, or after a stop.
  template <class Rep, class Period>
  [[nodiscard]] std::optional<term> try_campaign_for(std::string_view value,
                                                     const std::chrono::duration<Rep, Period>& limit,
                                                     const std::stop_token& stop = {}) {
    return handle_.campaign(value, detail::to_limit(limit), stop);
  }
  /// As `try_campaign_for`, until a time point of any clock. If the clock is set meanwhile, its new time
  /// counts.
  template <class Clock, class Duration>
  [[nodiscard]] std::optional<term> try_campaign_until(std::string_view value,
                                                       const std::chrono::time_point<Clock, Duration>& limit,
                                                       const std::stop_token& stop = {}) {
    return detail::until(limit, stop, [&](duration left) { return try_campaign_for(value, left, stop); });
  }

  /// Returns the leader as the store has it: one that died is shown until its ttl ends, and one whose
  /// renewal is late may have stepped down already. Waits for the store's answer, as `client::inspect`.
  /// \return empty where nobody leads, also where the name is held by a mutex, readers or permits.
  /// \throws holdfast::error as `client::inspect`.
  [[nodiscard]] std::optional<candidate> leader() const { return handle_.leader(); }
  /// Returns the leader, if there is one, and those who stand by, in the order in which they will lead. Waits
  /// for the store's answer.
  /// \throws holdfast::error as `client::inspect`.
  [[nodiscard]] std::vector<candidate> participants() const { return handle_.participants(); }
  /// Calls `changed` with the leader, soon after this call and after each change of leader or value, in their
  /// order, and never with an older term after a newer one. A change that is followed by another before the
  /// store can be asked is left out: the last state counts, also after a time without a connection. A loss of
  /// a notification delays a call by at most a second.
  ///
  /// It is also called when the store cannot be asked, once for each kind of error, with the error; when the
  /// store answers again, with the leader; and for the last time when the client is closed, with
  /// errc::closed. It runs on the client's thread for callbacks, one at a time: one that blocks delays the
  /// callbacks of `lease::on_lost` and `client::watch`, and nothing else. An exception that it throws ends
  /// the process.
  /// \return a handle. Destroying it ends the observation, and waits for a call of `changed` that runs,
  ///         except when `changed` itself destroys it. It may outlive the election and the client.
  /// \throws holdfast::error errc::invalid_argument for an empty function; errc::closed.
  [[nodiscard]] std::shared_ptr<void> observe(std::function<void(const observation&)> changed) const {
    return handle_.observe(std::move(changed));
  }
  /// The name of the election.
  [[nodiscard]] const std::string& name() const noexcept { return handle_.name(); }

  // The asynchronous forms. They are defined in <holdfast/async.hpp>, which documents tokens, signatures,
  // cancellation and errors for all of them. Campaigns complete with a term.

  /// Stands by until this candidate is elected; for at most the `wait_limit` of the options, if they have one
  /// (errc::timeout).
  template <class Token = detail::default_token>
  auto async_campaign(std::string_view value, Token&& token = Token{});
  /// Leads if nobody leads or stands by. Completes with an inert term otherwise.
  template <class Token = detail::default_token>
  auto async_try_campaign(std::string_view value, Token&& token = Token{});
  /// Stands by for at most `limit`, of any unit, from the start of the operation. Completes with an inert
  /// term where others led for all of that time.
  template <class Rep, class Period, class Token = detail::default_token>
  auto async_try_campaign_for(std::string_view value, const std::chrono::duration<Rep, Period>& limit,
                              Token&& token = Token{});
  /// As `async_try_campaign_for`, until a time point of any clock. The time left is read when the operation
  /// starts.
  template <class Clock, class Duration, class Token = detail::default_token>
  auto async_try_campaign_until(std::string_view value, const std::chrono::time_point<Clock, Duration>& limit,
                                Token&& token = Token{});
  /// As `leader()`. Completes with a std::optional<candidate>.
  template <class Token = detail::default_token>
  auto async_leader(Token&& token = Token{}) const;
  /// As `participants()`. Completes with a std::vector<candidate>.
  template <class Token = detail::default_token>
  auto async_participants(Token&& token = Token{}) const;

 private:
  detail::election_handle handle_;
};

}  // namespace holdfast
