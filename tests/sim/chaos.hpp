#pragma once

#include <deque>
#include <vector>

#include "sim/client.hpp"
#include "sim/surroundings.hpp"

namespace holdfast::sim {

/// What goes wrong in a world: which faults there are in it, and when.
class chaos {
 public:
  enum class fault : std::uint8_t {
    cut,
    half_open,
    stall,
    pause,
    kill,
    server_stop,
    restart_whole,     // keeping all
    restart_some,      // keeping what was there a moment ago
    restart_empty,     // keeping nothing
    failover,          // to a replica that was some writes behind
    eviction,          // a hold is ended by somebody who may
    lease_clock_step,  // of the server
    wall_clock_step,   // likewise
  };
  static constexpr std::size_t faults = 13;

  /// \param only nothing else happens.
  chaos(surroundings& around, std::deque<client>& clients, instant until, std::vector<fault> only);

  void begin();
  /// Ends every fault there is.
  void heal();

 private:
  void next();
  void strike(fault what);
  void pause(client& c);
  void kill(client& c);
  void step(duration by);
  void evict(client& c);
  void crash(bool loses, duration behind, duration down);
  void go_down(bool fall_back, bool forget, duration down);
  [[nodiscard]] duration up_to(duration most);

  surroundings& around_;
  std::deque<client>& clients_;
  instant until_;
  std::vector<fault> kinds_;
  duration every_{};
  bool crashing_ = false;
};

}  // namespace holdfast::sim
