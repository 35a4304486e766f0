// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace holdfast::test {

/// While this lives, one allocation of this thread fails with std::bad_alloc: operator new of the unit tests
/// counts for it.
class failing_allocation {
 public:
  /// \param which counts from 0.
  explicit failing_allocation(std::size_t which);
  ~failing_allocation();
  failing_allocation(const failing_allocation&) = delete;
  failing_allocation& operator=(const failing_allocation&) = delete;

  /// Whether it has come to that allocation.
  [[nodiscard]] static bool has_failed();
  /// How many allocations come before it.
  [[nodiscard]] static std::size_t left();
};

/// How many allocations `action` makes in this thread.
template <class Action>
std::size_t allocations_in(Action action) {
  constexpr std::size_t enough = 1'000'000;
  const failing_allocation counting{enough};
  action();
  return enough - failing_allocation::left();
}

}  // namespace holdfast::test
