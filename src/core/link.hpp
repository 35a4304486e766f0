// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/caller.hpp"
#include "core/machine.hpp"
#include "core/notification.hpp"
#include "core/request.hpp"
#include "core/watched.hpp"

namespace holdfast::tickets {

/// The link of a store: carries requests to the store, and passes on its notifications.
///
/// All calls but `help`, `drive`, `kick` and `shut` are made under the core lock of the client's scheduler,
/// and all callbacks are called under it.
class link {
 public:
  using outcome = std::variant<reply, store::request_error>;
  /// Gets the outcome of a request.
  struct on_reply : std::function<void(outcome&&)> {
    using function::function;
    template <class Handler>
    on_reply(std::uint64_t number, Handler&& handler)
        : function{std::forward<Handler>(handler)}, request{number} {}

    std::uint64_t request = 0;  // names the request for `take_back`; zero: nobody takes it back
  };
  using on_notification = std::function<void(const store::notification&)>;

  link() = default;
  link(const link&) = delete;
  link& operator=(const link&) = delete;
  virtual ~link() = default;

  /// Requests are carried out in the order of sending. Never answers within the call. Answers exactly
  /// once, unless it is cut before: a request cut off ends with a request_error, marked `maybe_executed`
  /// where it may have been carried out.
  virtual void send(tickets::request request, on_reply done) = 0;
  /// Answers a request of which nothing has left for the store, within this call: with a request_error that
  /// is not marked `maybe_executed`, and says why it was not sent. It is not sent any more. Has no effect on
  /// one that was sent.
  virtual void take_back(std::uint64_t /*request*/) {}
  /// Whether a joint request, `acquire_all` or `release_all`, may be about these names; for no names: about
  /// any. A link that carries out all that is queued in one step anyway gains nothing by them.
  [[nodiscard]] virtual bool joins(const std::vector<std::string_view>& /*names*/) const { return false; }
  /// Sets the handler of the store's notifications about claims. Once, before the first request.
  virtual void on_notifications(on_notification handler) = 0;
  /// Sets the handler that is called when notifications may have been lost, so that waiting claims look.
  /// Once, likewise. A link that cannot notice such a loss calls nothing.
  virtual void on_gap(const std::function<void()>& /*missed*/) {}
  /// See port::watch.
  virtual std::shared_ptr<void> watch(store::watched target, std::function<void()> changed) = 0;

  /// Calls it once nothing is under way any more of releases and withdrawals that the link has answered; at
  /// once where it answers no sooner than that. Later calls replace it.
  virtual void when_delivered(std::function<void()> action) { std::exchange(action, nullptr)(); }

  /// See port::session_until and port::on_session.
  [[nodiscard]] virtual std::optional<store::time_point> session_until() const { return std::nullopt; }
  virtual void on_session(const std::function<void()>& /*extended*/) {}

  /// Performs I/O for the store on the caller's thread, without the core lock, until the caller is served. It
  /// saves waking another thread. If the caller is dismissed, other threads go on at once.
  virtual void help(store::caller& caller) = 0;
  /// Carries out what was sent, as far as that is possible at once. False when there was nothing to do.
  virtual bool drive() = 0;
  /// Has the requests that were sent carried out without a call of `help` or `drive`. Any thread; does not
  /// block.
  virtual void kick() = 0;
  /// Cuts the link: no reply arrives any more, and no thread of it is left. Idempotent. Before the link is
  /// destroyed, and without the core lock.
  virtual void shut() {}
};

/// The reply of that kind in an outcome; null: it is another one, or an error.
template <class Reply>
[[nodiscard]] const Reply* reply_in(const link::outcome& o) {
  const auto* const any = std::get_if<reply>(&o);
  return any == nullptr ? nullptr : std::get_if<Reply>(any);
}
template <class Reply>
[[nodiscard]] Reply* reply_in(link::outcome& o) {
  auto* const any = std::get_if<reply>(&o);
  return any == nullptr ? nullptr : std::get_if<Reply>(any);
}

}  // namespace holdfast::tickets
