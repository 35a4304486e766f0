// SPDX-License-Identifier: Apache-2.0
#include "simulation/scene.hpp"

#include <exception>

namespace holdfast::sim {

bool scene::run_until(instant until) {
  while (violation.empty() && !agenda.empty() && agenda.next() <= until) {
    now = agenda.next();
    action callback = agenda.take();
    try {
      callback();
    } catch (const std::exception& e) {
      violated(std::string{"thrown: "} + e.what());
    }
    ++events;
  }
  if (!violation.empty()) return false;
  now = until;
  return true;
}

}  // namespace holdfast::sim
