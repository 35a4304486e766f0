#include "unit/failing_allocations.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <new>

namespace {

constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

struct failure_plan {
  std::size_t left = never;  // allocations that succeed before
  std::size_t size = 0;
  bool has_failed = false;
};
thread_local failure_plan plan;
thread_local failure_plan aligned_plan;

bool fails(failure_plan& of, std::size_t size) {
  if (of.left == never || (of.size != 0 && of.size != size)) return false;
  if (of.left-- != 0) return false;
  of.left = never;
  of.has_failed = true;
  return true;
}

void* allocate(std::size_t size) noexcept {
  return fails(plan, size) ? nullptr : std::malloc(size == 0 ? 1 : size);
}

}  // namespace

namespace holdfast::test {

failing_allocation::failing_allocation(std::size_t which, std::size_t size) { plan = {which, size, false}; }
failing_allocation::~failing_allocation() { plan = {}; }
bool failing_allocation::has_failed() { return plan.has_failed; }
std::size_t failing_allocation::left() { return plan.left; }

failing_aligned_allocation::failing_aligned_allocation(std::size_t which) {
  aligned_plan = {which, 0, false};
}
failing_aligned_allocation::~failing_aligned_allocation() { aligned_plan = {}; }

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

extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  void* block = nullptr;
  if (fails(aligned_plan, size)) return nullptr;
  return ::posix_memalign(&block, std::max(alignment, sizeof block), size) == 0 ? block : nullptr;
}
