// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "holdfast/export.hpp"

namespace holdfast {

struct event;

/// Durations of this library: whole microseconds. Any coarser std::chrono duration converts.
using duration = std::chrono::microseconds;

/// Reads a duration as store URLs and the command have it: numbers with a unit, such as `500ms`, `30s`, `5m`,
/// `2h`, `1d`, `1h30m` or `1.5s`. The units are us, ms, s, m (or min), h and d; one number without a unit
/// counts seconds. Parts add up; fractions are cut to microseconds, digit by digit. May be called from any
/// thread.
/// \return nothing where `text` is not a duration, is negative, or is longer than a hundred years of 365
/// days.
[[nodiscard]] HOLDFAST_EXPORT std::optional<duration> parse_duration(std::string_view text) noexcept;

// The option types are classes with setters that return *this, so that they read as one expression:
//
//     holdfast::mutex m{locks, "nightly", holdfast::lock_options{}.ttl(10s).label("reindex")};
//
// Setters throw holdfast::error (errc::invalid_argument) on values out of range, at once, and the message
// names the option. A function without a parameter returns the value as it is set, or its default. One object
// must not be changed by a thread while another uses it; clients and locks copy the options that they are
// given.

/// How often, and for how long, a request is tried again that failed for a temporary reason: the store does
/// not answer, or another process keeps the file locked. Delays grow exponentially from `first` to `longest`,
/// each drawn at random from the upper half of its step.
class HOLDFAST_EXPORT retry_policy {
 public:
  /// The delay before the first retry. Default 5 ms; at least 1 ms.
  retry_policy& first(duration delay);
  [[nodiscard]] duration first() const noexcept { return first_; }
  /// No delay is longer. Default 1 s; at least `first`.
  retry_policy& longest(duration delay);
  [[nodiscard]] duration longest() const noexcept { return longest_; }
  /// Give up after this long without one answer from the store; the last try's answer is waited for a
  /// second longer, if need be. Default 10 s; zero: never retry; `duration::max()`: never give up. Renewals
  /// do not heed it: they are tried until the lease's deadline, with pauses of a second or a tenth of the ttl
  /// at most, whichever is shorter. Nor do releases: they are tried until the ttl has surely ended the hold.
  retry_policy& limit(duration total);
  [[nodiscard]] duration limit() const noexcept { return limit_; }

 private:
  duration first_ = std::chrono::milliseconds{5};
  duration longest_ = std::chrono::seconds{1};
  duration limit_ = std::chrono::seconds{10};
};

/// How one lock is waited for and held.
class HOLDFAST_EXPORT lock_options {
 public:
  /// How long a grant lives at the store without renewal: the longest time a name stays locked after
  /// its holder died. Default 30 s; 100 ms to 24 h.
  lock_options& ttl(duration ttl);
  [[nodiscard]] duration ttl() const noexcept { return ttl_; }
  /// On (the default): the client renews the lease at a third of its ttl until it is released.
  /// Off: a fixed lease that ends at its deadline unless `lease::renew()` is called. The deadline lies one
  /// ttl, less the drift margin, after the sending of the request whose answer says that it is granted, also
  /// for one that has waited.
  lock_options& renewal(bool on);
  [[nodiscard]] bool renewal() const noexcept { return renewal_; }
  /// The longest that `lock()` and `acquire()` wait before they fail with errc::timeout. Default: as
  /// long as it takes, as std::mutex does. The timed and try calls have limits of their own.
  lock_options& wait_limit(duration limit);
  [[nodiscard]] std::optional<duration> wait_limit() const noexcept { return wait_limit_; }
  /// The retries of this lock's claims; see retry_policy.
  lock_options& retry(retry_policy policy);
  [[nodiscard]] const retry_policy& retry() const noexcept { return retry_; }
  /// How long the name rests after a loss: for so long after the end of the ttl nobody is granted it, so that
  /// what a holder that died has begun elsewhere can end (Consul's lock-delay). A hold rests where its holder
  /// stopped renewing it: its process died, was stopped, or did not reach the store. A release does not wait
  /// for it, nor does the closing of the client, nor a hold that was ended by force. It counts from the
  /// deadline plus the drift margin; the lease and its loss know nothing of it. A claim that waits keeps its
  /// place for as long, too, after its process died. Of every mode. Default 0; at most 1 h.
  /// It is refused with errc::invalid_argument when the lock is claimed: on stores whose claims end with a
  /// session (ZooKeeper, `?mode=session`), and on Redis and Redlock where ttl and grace together are longer
  /// than `failover_guard` or `restart_guard` (30 s by default).
  lock_options& grace(duration grace);
  [[nodiscard]] duration grace() const noexcept { return grace_; }
  /// The least time for which a name stays locked, from its grant (ShedLock's lockAtLeastFor): a release that
  /// comes sooner ends the lease at once, and the store keeps the name for the rest of that time, without
  /// this process. Where several hosts start a job by clocks that differ, one that is late does not run it
  /// again. A release after that time is a usual one. `unlock()`, `lease::release()` and the closing of the
  /// client leave it so; `client::force_release` ends it sooner. A lost hold does not heed it: it ends with
  /// its ttl and `grace`. It concerns each hold by itself, of every mode; of a `recursive_mutex` the
  /// outermost. Default 0; at most 24 h. An election refuses it, and so does what refuses `grace`, with
  /// errc::invalid_argument.
  lock_options& at_least(duration least);
  [[nodiscard]] duration at_least() const noexcept { return at_least_; }
  /// A text for people, shown beside host, pid and program wherever holders are listed. At most 256
  /// bytes of UTF-8 without control characters.
  lock_options& label(std::string text);
  [[nodiscard]] const std::string& label() const noexcept { return label_; }
  /// The time that is taken off every deadline for clocks that run at different rates: deadline = time of
  /// sending + ttl - margin. Default: 1 % of the ttl + 2 ms (as in Redlock); less than half the ttl.
  lock_options& drift_margin(duration margin);
  [[nodiscard]] duration drift_margin() const noexcept {
    return drift_margin_.value_or(ttl_ / 100 + std::chrono::milliseconds{2});
  }

 private:
  duration ttl_ = std::chrono::seconds{30};
  bool renewal_ = true;
  std::optional<duration> wait_limit_;
  retry_policy retry_;
  std::string label_;
  std::optional<duration> drift_margin_;
  duration grace_{};
  duration at_least_{};
};

/// How a client behaves; its lock options are the defaults of every lock made on it.
class HOLDFAST_EXPORT client_options {
 public:
  /// The options of every lock that is made on the client without options of its own. Their retry policy is
  /// that of `client::inspect`, `client::list` and `client::force_release`, too.
  client_options& locks(lock_options defaults);
  [[nodiscard]] const lock_options& locks() const noexcept { return locks_; }
  /// The longest that closing waits for releases and withdrawals that are still under way; what is
  /// not confirmed by then ends with its ttl. Default 2 s; zero: do not wait.
  client_options& flush_limit(duration limit);
  [[nodiscard]] duration flush_limit() const noexcept { return flush_limit_; }
  /// The name of the program in the metadata of every claim: at most 256 bytes of UTF-8 without control
  /// characters. Default: that of this process.
  client_options& program(std::string name);
  [[nodiscard]] const std::string& program() const noexcept { return program_; }
  /// The password of the store, where it should not stand in the URL. It wins over the URL's, except on
  /// ZooKeeper: there it completes `auth=digest:user`, one in `auth` wins, and without `auth` the URL is
  /// refused. Stores that know no users ignore it.
  client_options& password(std::string secret);
  /// The same, for a password that changes while the client lives, as tokens of a cloud do: `source` returns
  /// the one that is valid now. It is called for each login, also when a connection is made anew, on any
  /// thread that waits for the store or works for the client, and of several servers on several at once.
  /// While it runs nothing is renewed: it should answer from memory or a small file. It must not use the
  /// client. What it throws fails that login as errc::unavailable, with the text of the exception in the
  /// message; the next attempt asks again. On ZooKeeper a login is that of a session, and reconnects repeat
  /// it.
  client_options& password(std::function<std::string()> source);
  /// Empty if no password is given.
  [[nodiscard]] const std::function<std::string()>& password() const noexcept { return password_; }
  /// Is told what happens in the client: connections, claims, leases; see <holdfast/event.hpp>. Runs on the
  /// client's thread for callbacks, one call at a time, in the order of the events, under none of the
  /// client's locks. It may be called before the client's constructor has returned. One that blocks delays
  /// the callbacks of `lease::on_lost` and `client::watch`, and nothing else. 1024 events wait for it;
  /// further ones are dropped, and counted in `client_statistics::events_dropped` and the next
  /// `event::dropped`. An exception that it throws ends the process. The order of events and other callbacks
  /// is not defined. Its calls may use the client.
  ///
  /// Closing the client first tells it of the ends of leases and claims, as far as those 1024 have room:
  /// within `flush_limit`, and for 100 ms more where the store took all of that. Events that are left then
  /// are dropped, and counted. It is not called any more once `client::close()` or the destructor has
  /// returned, on whichever thread. They wait for a call that runs, however long it takes, unless that call
  /// itself closes the client. A callback of this or another client that closes it does not wait for events.
  /// So two observers must not close each other's clients. In a child after fork() it is never called. The
  /// function is destroyed with the client and the last of its locks and leases.
  ///
  /// Default: none. Without it no event is made; `client::statistics()` counts all the same.
  client_options& observer(std::function<void(const event&)> observes);
  [[nodiscard]] const std::function<void(const event&)>& observer() const noexcept { return observer_; }

 private:
  lock_options locks_;
  duration flush_limit_ = std::chrono::seconds{2};
  std::string program_;
  std::function<std::string()> password_;
  std::function<void(const event&)> observer_;
};

}  // namespace holdfast
