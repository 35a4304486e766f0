#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/scheduler.hpp"
#include "stores/zookeeper/protocol/beats.hpp"
#include "stores/zookeeper/protocol/wire.hpp"

namespace holdfast::zookeeper {

/// Computes until when a client's session is known to live at the servers. It does not depend on locks and
/// their nodes.
///
/// The servers end a session that was silent for its timeout. The leader counts the timeout. It learns at
/// every half tick which sessions its followers have seen, and no session is shorter than two ticks. The
/// deadline of all leases counts from the last request that is known to have reached the leader (see
/// `beats`). Beats that are only sent in time prove nothing, because delayed beats may arrive together.
///
/// - A new session is proven by its own beginning, which the servers have voted on.
/// - A new connection of the same session proves nothing by itself. A vote after it does.
/// - From then on, beats prove it: eleven in a timeout, and at once after a stall.
///
/// docs/adr/0012-deadline-by-beats-to-the-leader.md has the reasons.
class liveness {
 public:
  /// \param time must outlive it, and so must `servers`.
  /// \param top the node that beats name; it does not have to exist.
  /// \param requested the requested timeout; zero: not known.
  liveness(store::scheduler& time, wire& servers, std::string top, duration requested);
  ~liveness();
  liveness(const liveness&) = delete;
  liveness& operator=(const liveness&) = delete;

  /// \param handler is called whenever the deadline moves.
  void on_extended(std::function<void()> handler) { extended_ = std::move(handler); }

  /// \param timeout of the session, as the servers have it.
  /// \param began before the connection was asked for.
  /// \param is_new the session has begun with this connection.
  void connected(duration timeout, store::time_point began, bool is_new);
  void disconnected();
  /// The servers have ended the session.
  void expired();

  /// Returns the deadline, less a margin for clocks that run at different rates.
  [[nodiscard]] store::time_point until() const;
  [[nodiscard]] duration timeout() const { return timeout_; }

 private:
  void confirm_contact(store::time_point began);
  void beat();
  void beat_later();
  [[nodiscard]] duration half_a_tick() const;
  void heard_of(store::time_point sending);

  store::scheduler& time_;
  wire& wire_;
  const std::string top_;
  const duration requested_;
  std::function<void()> extended_;

  duration timeout_{};
  store::time_point heard_of_;  // the sending time of the last request that has surely reached the leader
  beats beats_;
  store::time_point last_beat_;
  bool stalled_ = false;       // a beat was late, or its answer
  std::uint64_t contact_ = 0;  // the number of the connection; a proof is valid for its own connection only
  store::scheduler::timer next_beat_ = 0;
};

}  // namespace holdfast::zookeeper
