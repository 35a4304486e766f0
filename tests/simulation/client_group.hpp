// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <string>

#include "simulation/client.hpp"
#include "simulation/rates.hpp"
#include "simulation/surroundings.hpp"

namespace holdfast::sim {

/// All clients of a world, and what has to hold for each of them once there are no more faults.
class client_group {
 public:
  explicit client_group(surroundings& around) : around_{around} {}

  /// Makes that many, each with its clocks, the latency of its way, and its users.
  void gather(std::size_t count, const rates& of);
  [[nodiscard]] std::deque<client>& all() { return clients_; }

  void start();
  void retire();
  /// Everybody has to get what he waits for within `reply_limit`, and whatever he asks for in the round after
  /// that. False once something was found.
  [[nodiscard]] bool get_served(duration reply_limit, duration last_round);
  /// One leads, and each observer has to show its last value; it resigns, and each has to show that. False
  /// once something was found.
  [[nodiscard]] bool end_election();
  void close();
  /// Nothing of theirs is under way any more after closing.
  /// \param timers how many each may still have.
  void require_still(std::size_t timers);

 private:
  [[nodiscard]] bool require_observed(const std::string& value);

  surroundings& around_;
  std::deque<client> clients_;
};

}  // namespace holdfast::sim
