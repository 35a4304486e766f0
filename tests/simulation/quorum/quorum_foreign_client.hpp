// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "simulation/host.hpp"
#include "simulation/line.hpp"
#include "simulation/quorum/quorum_store.hpp"
#include "simulation/surroundings.hpp"

namespace holdfast::sim {

/// Another client of Redlock on the same names and servers, as its authors describe it: SET NX PX at each
/// server; it holds if a majority has set the key, from before the sending; else, and in the end,
/// compare-and-delete at all of them. It tries again after a random time. It may die with a lock in its
/// hands.
class quorum_foreign_client {
 public:
  quorum_foreign_client(surroundings& around, quorum_store& store, std::uint8_t number, clock boot);

  void start();
  /// Asks for nothing more. What it holds ends within a ttl.
  void retire() { retired_ = true; }

  host at;

 private:
  template <class Function>
  void after(duration d, Function f) {
    at.hear_at(at.true_time_of(at.now() + d), std::move(f));
  }
  void rest(duration most);
  void begin();
  void ask(std::size_t server);
  void answered(std::uint32_t attempt, bool yes);
  void decide();
  void hold();
  void release();
  void stumble();
  [[nodiscard]] store::time_point end_of_hold() const;

  surroundings& around_;
  quorum_store& store_;
  std::deque<line> ways_;
  std::size_t name_ = 0;
  foreign_commands::milliseconds ttl_{};
  std::string value_;
  store::time_point sent_;
  std::uint32_t attempt_ = 0;
  bool is_deciding_ = false;
  std::size_t heard_ = 0;
  std::size_t set_ = 0;
  std::uint64_t tries_ = 0;
  bool retired_ = false;
};

}  // namespace holdfast::sim
