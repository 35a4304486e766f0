// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <vector>

#include "simulation/fault_injector.hpp"

namespace holdfast::sim {

/// What goes wrong in a world with a server.
class server_fault_injector final : public fault_injector {
 public:
  enum class fault : kind {
    server_stop = client_faults,
    restart_whole,     // keeping all
    restart_some,      // keeping what was there a moment ago
    restart_empty,     // keeping nothing; in some worlds it is emptied while it runs
    failover,          // to a replica that was some writes behind
    holds_ended,       // by somebody who may, or by the eviction of a key
    lease_clock_step,  // of the server
    wall_clock_step,   // likewise
    refusals,          // the server answers with errors
    replicas_late,     // acknowledgements do not come
    lock_waits,        // transactions wait for others, and some are given up for the sake of these
    broken_commits,    // connections end while a transaction commits, which it does or not
    partition,         // a failover, and the former primary goes on for some clients
  };
  static constexpr kind faults = 18;

  /// \param only nothing else happens, unless empty.
  server_fault_injector(surroundings& around, std::deque<client>& clients, instant until,
                        std::vector<kind> only);

 private:
  void strike_servers(kind fault_kind, client& c, std::size_t server) override;
  void heal_servers() override;
  [[nodiscard]] bool can_be(fault which) const;
  void step(duration by);
  void empty();
  void end_holds(client& c);
  void crash(fault cause, duration down);
  void part(duration length);
  void go_down(fault cause, duration down);

  bool crashing_ = false;
  instant parted_until_{};     // there are two primaries
  instant no_flush_before_{};  // see docs/stores/redis.md
};

}  // namespace holdfast::sim
