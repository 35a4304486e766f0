// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/results.hpp"
#include "core/watched.hpp"

namespace holdfast::store {

template <class Result>
using handler = std::function<void(Result)>;

/// The interface of a store to the lease core.
///
/// Every function is called under the client's core lock, answers through its handler exactly once,
/// later, under it again, and never blocks. An operation that gets no answer from the store is retried
/// inside, until the time given; an unknown outcome is reported as such.
///
/// Two kinds of lifetime fit behind it. A store with a ttl of each lease answers `granted` with the moment
/// of sending, and is renewed by the keeper. A store with a session shared by all leases of a client says
/// so in `session_until`; its link keeps the session alive, and no lease is believed beyond it. There, too, a
/// lease has its ttl and is renewed: the store is asked whether it is still there.
class port {
 public:
  port() = default;
  port(const port&) = delete;
  port& operator=(const port&) = delete;
  virtual ~port() = default;

  /// Calls `begin`, within this call. The claims that begin there and do not wait are sent in one request
  /// if the store takes them so, and so are the releases. A claim that is refused ends those after it, in the
  /// order of their names, with `refused`.
  virtual void together(const std::function<void()>& begin) = 0;
  /// Starts to claim. Ends with granted, refused or a failure; waits as long as it takes.
  virtual void acquire(claim_ptr claim, handler<acquired> done) = 0;
  /// Stops a claim that has not been answered: its handler is not called any more, and what it may have
  /// left at the store is withdrawn in the background. Unknown owners are no error.
  virtual void cancel(const owner_id& owner) = 0;
  /// The error of a claim that gives up now: the store has not said, or cannot know, that others hold the
  /// lock. Empty: others hold it, as the store has said; or the claim has ended, by now or within this call.
  /// What was not sent to the store until now is not sent any more.
  [[nodiscard]] virtual std::optional<failure> error_now(const owner_id& owner) = 0;
  /// One request for all holds. Waits for the answer no longer than until `answer_by`.
  virtual void renew(std::vector<hold> holds, time_point answer_by, handler<renewals> done) = 0;
  /// Retries until the store confirms, or until `give_up`, when the ttl has surely ended the hold.
  /// \param done may be empty, likewise that of `expire_at`.
  virtual void release(store::hold hold, time_point give_up, handler<released> done) = 0;
  /// Leaves the hold to the store until `until`: nobody renews it any more. Retries as `release` does.
  virtual void expire_at(store::hold hold, time_point until, time_point give_up, handler<released> done) = 0;
  /// From exclusive to shared.
  virtual void downgrade(store::hold hold, time_point give_up, handler<lowered> done) = 0;
  /// Replaces the metadata of an exclusive hold.
  virtual void annotate(store::hold hold, std::shared_ptr<const std::string> metadata, time_point give_up,
                        handler<annotated> done) = 0;

  /// \param most_waiters number of waiters to read, from the head of the queue; the answer may have more.
  virtual void inspect(std::string name, std::size_t most_waiters, time_point give_up,
                       handler<inspected> done) = 0;
  virtual void list(bool idle, time_point give_up, handler<listed> done) = 0;
  /// Ends the hold with this token, or, without one, every hold that the store has when it is first asked.
  /// One that is granted later is left alone, also when a request is repeated because its reply is lost.
  virtual void force_release(std::string name, std::optional<fencing_token> token, time_point give_up,
                             handler<forced> done) = 0;
  /// Asks the holder with this token, or, without one, all holders, to release. See tickets::request_release.
  virtual void request_release(std::string name, std::optional<fencing_token> token, std::string reason,
                               time_point give_up, handler<notified> done) = 0;
  /// Calls `changed` under the core lock once soon, and after every change of what is watched, bursts taken
  /// together, until the returned object is destroyed. It may be called without a change, too: after a time
  /// without a connection, say.
  virtual std::shared_ptr<void> watch(store::watched target, std::function<void()> changed) = 0;

  /// Sets the handler that is called when a granted claim was ended by another client: a hint, which anybody
  /// may have sent, to be confirmed by a renewal.
  virtual void on_revoked(std::function<void(const owner_id&, fencing_token)> heard) = 0;
  /// Sets the handler that is called when a granted claim may be asked to be released: a hint, too. An
  /// inspection has the request.
  virtual void on_release_requested(std::function<void(const owner_id&)> heard) = 0;
  /// Sets the handler that is called when notifications may have been lost, as with a connection.
  virtual void on_gap(std::function<void()> missed) = 0;
  /// For stores whose leases live and die with a session: until when it is known to live. Empty where each
  /// lease has a ttl of its own.
  [[nodiscard]] virtual std::optional<time_point> session_until() const = 0;
  /// Sets the handler that is called, under the core lock, when the session is known to live longer.
  virtual void on_session(const std::function<void()>& extended) = 0;

  /// Number of operations without an answer yet, those in the background included.
  [[nodiscard]] virtual std::size_t busy() const = 0;
  /// Calls `action` under the core lock as soon as nothing is under way.
  virtual void when_idle(std::function<void()> action) = 0;
  /// Ends whatever is under way with errc::closed, its outcome unknown.
  virtual void abandon() = 0;
};

}  // namespace holdfast::store
