// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "simulation/surroundings.hpp"

namespace holdfast::sim {

/// What a seed came to.
struct outcome {
  explicit outcome(const surroundings& around);

  std::string violation;  // empty: everything held
  std::uint64_t hash;
  std::uint64_t operations;
  std::uint64_t requests;   // that the store carried out
  std::uint64_t refusals;   // requests that were answered with an error
  std::uint64_t forgotten;  // names that were swept
  std::uint64_t grants;
  std::uint64_t excused_overlaps;
  std::uint64_t stale_refused;
  std::uint64_t events;
  std::uint64_t foreign_holds;
  std::uint64_t foreign_followed;  // in time, by a waiter of ours
  std::uint64_t left_free;         // moments in which a lock was, for foreign clients
};

}  // namespace holdfast::sim
