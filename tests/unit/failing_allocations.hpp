#pragma once

#include <cstddef>

namespace holdfast::test {

/// While this lives, one allocation of this thread fails with std::bad_alloc: operator new of the unit tests
/// counts for it.
class failing_allocation {
 public:
  /// \param which counts from 0. \param size of the allocations that count; 0: all of them.
  explicit failing_allocation(std::size_t which, std::size_t size = 0);
  ~failing_allocation();
  failing_allocation(const failing_allocation&) = delete;
  failing_allocation& operator=(const failing_allocation&) = delete;

  /// Whether it has come to that allocation.
  [[nodiscard]] static bool has_failed();
};

}  // namespace holdfast::test
