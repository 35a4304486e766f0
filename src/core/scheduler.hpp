// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "core/claim.hpp"

namespace holdfast::store {

/// Time, random numbers and the order of calls, for everything above a link. The runtime and the simulator
/// each have one. The core of one client runs under one lock, the core lock; each of these is called under
/// it.
class scheduler {
 public:
  using timer = std::uint64_t;

  scheduler() = default;
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;
  virtual ~scheduler() = default;

  [[nodiscard]] virtual time_point now() const = 0;
  [[nodiscard]] virtual std::uint64_t random() = 0;
  /// The id of a claim that is made anew; nobody can guess it.
  [[nodiscard]] virtual owner_id new_owner() = 0;
  /// Calls `action` under the core lock, at `when` or as soon after as can be.
  virtual timer at(time_point when, std::function<void()> action) = 0;
  /// Forgets a timer; one that has fired, or zero, is no error.
  virtual void cancel(timer which) = 0;
  /// Calls user code after the core lock is released, outside every lock.
  virtual void defer_callback(std::function<void()> action) = 0;
};

}  // namespace holdfast::store
