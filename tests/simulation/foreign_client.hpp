// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "simulation/foreign_commands.hpp"
#include "simulation/host.hpp"
#include "simulation/line.hpp"
#include "simulation/surroundings.hpp"

namespace holdfast::sim {

/// A lock client that is not ours, on the same names: SET key random NX PX ttl, and the same once more a
/// while later; compare-and-delete, compare-and-extend. It has faults of its own: its connection breaks, it
/// stands still, it dies with a lock in its hands.
class foreign_client {
 public:
  foreign_client(surroundings& around, foreign_commands& at_server, std::uint8_t number, clock boot,
                 duration latency);

  void start();
  /// Asks for nothing more. What it holds ends within a ttl.
  void retire() { retired_ = true; }

  host at;
  line way;

 private:
  enum class step : std::uint8_t { set, extend, release };
  /// What it asks, and what becomes of the answer. The value is made from the number, so that a late request
  /// carries its own.
  struct foreign_request {
    step kind = step::set;
    std::uint8_t name = 0;
    std::uint32_t number = 0;  // of the hold
    std::uint32_t ttl_ms = 0;
    friend bool operator==(const foreign_request&, const foreign_request&) = default;
  };

  template <class Function>
  void after(duration d, Function f) {
    at.hear_at(at.true_time_of(at.now() + d), std::move(f));
  }
  void rest(duration most);
  void begin();
  void ask(foreign_request request);
  void answered(const foreign_request& request, bool yes);
  void unanswered();
  void hold();
  void stumble();
  [[nodiscard]] store::time_point end_of_hold() const;
  [[nodiscard]] std::string value_of(std::uint32_t number) const;

  surroundings& around_;
  foreign_commands& server_;
  std::optional<foreign_request> open_;
  store::time_point sent_;
  foreign_request held_;
  std::uint32_t numbers_ = 0;
  std::uint32_t tries_ = 0;
  bool retired_ = false;
};

}  // namespace holdfast::sim
