// SPDX-License-Identifier: Apache-2.0
#include "unit/failing_allocations.hpp"

#include <cstdlib>
#include <limits>
#include <new>

namespace {

constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

struct failure_plan {
  std::size_t left = never;  // allocations that succeed before
  bool has_failed = false;
};
thread_local failure_plan plan;

bool fails() {
  if (plan.left == never || plan.left-- != 0) return false;
  plan.left = never;
  plan.has_failed = true;
  return true;
}

void* allocate(std::size_t size) noexcept { return fails() ? nullptr : std::malloc(size == 0 ? 1 : size); }

}  // namespace

namespace holdfast::test {

failing_allocation::failing_allocation(std::size_t which) { plan = {which, false}; }
failing_allocation::~failing_allocation() { plan = {}; }
bool failing_allocation::has_failed() { return plan.has_failed; }
std::size_t failing_allocation::left() { return plan.left; }

}  // namespace holdfast::test

// All that come as pairs: a sanitizer reports a block that another pair gives back.

void* operator new(std::size_t size) {
  if (void* const block = allocate(size)) return block;
  throw std::bad_alloc{};
}
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept { return allocate(size); }
void* operator new[](std::size_t size, const std::nothrow_t& /*tag*/) noexcept { return allocate(size); }
void operator delete(void* block) noexcept { std::free(block); }
void operator delete[](void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t /*size*/) noexcept { std::free(block); }
void operator delete[](void* block, std::size_t /*size*/) noexcept { std::free(block); }
void operator delete(void* block, const std::nothrow_t& /*tag*/) noexcept { std::free(block); }
void operator delete[](void* block, const std::nothrow_t& /*tag*/) noexcept { std::free(block); }
