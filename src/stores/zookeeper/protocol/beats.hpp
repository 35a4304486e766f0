#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "core/claim.hpp"

namespace holdfast::zookeeper {

/// What the answers to a session's beats prove. A beat is a `sync`, which the leader answers; they are
/// answered in the order of sending.
///
/// A follower reports the sessions that it has heard of to the leader at every half tick. So the leader knows
/// of a beat where a second one was sent at least half a tick after its answer, and a third one after the
/// answer to the second, and all have been answered: the follower's report with the first has then reached
/// the leader before the third did. Any three such beats of one connection prove it, whatever was sent in
/// between.
class beats {
 public:
  /// A new connection: what was sent before proves nothing over this one.
  void clear() { all_.clear(); }
  [[nodiscard]] std::size_t in_flight() const;

  /// \return its number.
  std::uint64_t sent(store::time_point now);
  /// \param number of the beat that is answered.
  /// \param half_a_tick at most, by a clock that may be slower.
  /// \return the last sending that the leader is now known to have heard of.
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
