#pragma once

#include <memory>

#include "core/link.hpp"
#include "core/port.hpp"
#include "simulation/host.hpp"
#include "simulation/mutant.hpp"

namespace holdfast::sim {

/// The driver over a link; between them, and before its scheduler, stands what the mutant is made of, where
/// it concerns acquisitions.
[[nodiscard]] std::unique_ptr<store::port> driver_of(mutant which, store::scheduler& time,
                                                     tickets::link& over);

/// What stands between a driver and its link, where the mutant is made there; null elsewhere.
[[nodiscard]] std::unique_ptr<tickets::link> spoiled_link(mutant which, tickets::link& inner);

/// What stands between a client's core and its driver, and maybe its scheduler; likewise.
struct spoiled_seams {
  std::unique_ptr<store::port> port;
  std::unique_ptr<store::scheduler> time;
};
[[nodiscard]] spoiled_seams spoiled_core(mutant which, host& at, store::port& inner);

}  // namespace holdfast::sim
