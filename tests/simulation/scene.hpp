// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "simulation/event_queue.hpp"
#include "simulation/randomness.hpp"
#include "simulation/trace.hpp"

namespace holdfast::sim {

/// What everything in a world shares: time, chance, the agenda, the trace, and what was found wrong.
struct scene {
  scene(std::uint64_t seed, bool prints) : chance{seed}, log{prints} {}

  instant now{};
  event_queue agenda;
  randomness chance;
  trace log;
  std::string violation;  // the first one; it ends the world
  std::uint64_t events = 0;

  template <class Function>
  void after(true_clock::duration d, Function f) {
    agenda.add(now + d, std::move(f));
  }
  void note(std::string_view text, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0) {
    log.note(now, text, a, b, c);
  }
  void violated(const std::string& text) {
    log.line(now, "VIOLATION: " + text);
    if (violation.empty()) violation = text;
  }
  /// What would follow from another violation is none of its own.
  void require(bool holds, const std::string& otherwise) {
    if (!holds && violation.empty()) violated(otherwise);
  }
  /// Lets happen what is due by then. False once something was found.
  bool run_until(instant until);
};

}  // namespace holdfast::sim
