// Clients that cannot be made: nothing of them stays, and none of their threads is at work when they go.

#include <gtest/gtest.h>
#include <new>
#include <optional>

#include "holdfast/client.hpp"
#include "holdfast/error.hpp"
#include "holdfast/mutex.hpp"
#include "runtime/event_loop.hpp"
#include "unit/failing_allocations.hpp"

namespace holdfast {
namespace {

/// Of those that make an event loop none fails: Boost loses memory where an io_context cannot be made.
std::size_t allocations_of_loop() {
  const runtime::event_loop first;  // what is made once in a process
  return test::allocations_in([] { const runtime::event_loop loop; });
}

TEST(client_out_of_memory, is_not_made) {
  std::optional<client> locks;
  int failed = 0;
  for (std::size_t which = allocations_of_loop(); !locks; ++which) {
    try {
      const test::failing_allocation fails{which};
      locks.emplace("memory:client_out_of_memory");
    } catch (const std::bad_alloc&) {
      ++failed;
    } catch (const error& e) {
      EXPECT_EQ(e.code(), errc::exhausted) << e.what();
      ++failed;
    }
  }
  EXPECT_GE(failed, 10) << "the store, the lease core";
  EXPECT_TRUE(mutex(*locks, "stock").try_lock());
}

}  // namespace
}  // namespace holdfast
