#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <variant>

#include "base/owner_id.hpp"
#include "core/caller.hpp"
#include "core/machine.hpp"

namespace holdfast::store {

/// What every family of stores asks of its link: carry requests, and pass on what the store says.
///
/// `Request` and `Reply` are the family's own. All calls but `help`, `drive` and `kick` are made under the
/// core lock of the client's scheduler, and all callbacks are called under it.
template <class Request, class Reply>
class link {
 public:
  using outcome = std::variant<Reply, trouble>;
  using on_reply = std::function<void(outcome)>;
  using on_notice = std::function<void(const owner_id&, noticed)>;

  link() = default;
  link(const link&) = delete;
  link& operator=(const link&) = delete;
  virtual ~link() = default;

  /// Requests are carried out in the order of sending. Never answers within the call. Always answers: a
  /// request cut off is trouble, `unknown` where it may have been carried out.
  virtual void send(Request what, on_reply done) = 0;
  /// Where words of the store about a claim go. Set once, before the first request.
  virtual void on_notices(on_notice told) = 0;
  /// Who hears that words may have been lost, so that whoever waits had better look. Set once, likewise. For
  /// links that can lose words unnoticed there is nothing to tell.
  virtual void on_gap(const std::function<void()>& /*missed*/) {}
  /// See port::watch.
  virtual std::shared_ptr<void> watch(std::function<void()> changed) = 0;

  /// See port::session_until and port::on_session.
  [[nodiscard]] virtual std::optional<time_point> session_until() const { return std::nullopt; }
  virtual void on_session(const std::function<void()>& /*extended*/) {}

  /// Works for the store on a thread that would otherwise wait for another to be woken, without the core
  /// lock, until the caller is served.
  virtual void help(caller& who) = 0;
  /// Carries out what was sent, as far as that is possible at once. False when there was nothing to do.
  virtual bool drive() = 0;
  /// Sees to it that what was sent gets carried out without anybody's help. Any thread; does not block.
  virtual void kick() = 0;
};

}  // namespace holdfast::store
