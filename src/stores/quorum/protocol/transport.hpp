#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "core/link.hpp"
#include "core/notification.hpp"
#include "stores/quorum/protocol/ballots.hpp"

namespace holdfast::quorum {

/// What the coordinator needs of its link. All of it under the core lock.
class transport {
 public:
  using on_reply = tickets::link::on_reply;

  /// Requests to one server are carried out in the order of sending. Answers later, always.
  virtual void send_to(std::size_t server, ballots::request request, on_reply done) = 0;
  /// Calls it after the call that asks for it.
  virtual void soon(std::function<void()> action) = 0;
  /// Passes on a notification of a claim.
  virtual void notify(const store::notification& n) = 0;
  /// Whether the servers keep the set of their clients. If not, `join` and `leave` are not called.
  [[nodiscard]] virtual bool keeps_sets() const { return true; }
  /// Writes the set of the servers at one that keeps none, and calls `coordinator::joined`, or `not_joined`.
  /// Before the requests that are sent afterwards.
  virtual void join(std::size_t server, const std::string& set) = 0;
  /// Deletes the set at a server if it still is this one. There is no answer.
  virtual void leave(std::size_t server, const std::string& set) = 0;

 protected:
  ~transport() = default;
};

}  // namespace holdfast::quorum
