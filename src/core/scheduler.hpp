#pragma once

#include <cstdint>
#include <functional>

#include "core/claim.hpp"

namespace holdfast::store {

/// Time, chance and order, as everything above a link sees them. The runtime and the simulator each have
/// one. All of the core of one client runs in turns, one at a time; each of these is called in a turn.
class scheduler {
 public:
  using timer = std::uint64_t;

  scheduler() = default;
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;
  virtual ~scheduler() = default;

  [[nodiscard]] virtual time_point now() const = 0;
  [[nodiscard]] virtual std::uint64_t random() = 0;
  /// Calls `action` in a turn of its own, at `when` or as soon after as can be.
  virtual timer at(time_point when, std::function<void()> action) = 0;
  /// Forgets a timer; one that has fired, or zero, is no error.
  virtual void cancel(timer which) = 0;
  /// Calls user code after this turn, outside every lock.
  virtual void after_turn(std::function<void()> action) = 0;
};

}  // namespace holdfast::store
