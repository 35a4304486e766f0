#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "core/claim.hpp"
#include "core/scheduler.hpp"
#include "stores/zookeeper/protocol/wire.hpp"

namespace holdfast::zookeeper {

/// Computes what the answers to a session's beats prove. A beat is a `sync`, which the leader answers. Beats
/// are answered in the order of sending.
///
/// A follower reports the sessions that it has seen to the leader at every half tick. So three beats of one
/// connection prove that the leader knows of the first: the second was sent at least half a tick after the
/// answer to the first, the third after the answer to the second, and all were answered. Then the follower's
/// report with the first beat reached the leader before the third beat. Other beats in between do not matter.
class beats {
 public:
  /// Begins a new connection: earlier beats prove nothing over it.
  void clear() { all_.clear(); }
  [[nodiscard]] std::size_t in_flight() const;

  /// \return its number.
  std::uint64_t sent(store::time_point now);
  /// \param number of the beat that is answered.
  /// \param half_a_tick at most, even by a slower clock.
  /// \return the sending time of the last beat that has surely reached the leader.
  std::optional<store::time_point> answered(std::uint64_t number, store::time_point now,
                                            duration half_a_tick);

 private:
  struct beat {
    std::uint64_t number = 0;
    store::time_point sent;
    std::optional<store::time_point> answered;
    std::optional<store::time_point>
        second_to;  // the last beat that this one is the second to, by its sending
  };
  std::deque<beat> all_;
  std::uint64_t last_number_ = 0;
};

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
  void next(std::function<void()> action);
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
