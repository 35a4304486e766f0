#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "core/claim.hpp"

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

}  // namespace holdfast::zookeeper
