// Calls of a latch that end when there is no memory.

#include <gtest/gtest.h>
#include <memory>
#include <new>

#include "core/rendezvous_fixture.hpp"
#include "unit/failing_allocations.hpp"

namespace holdfast {
namespace {

using namespace test;

class rendezvous_out_of_memory : public rendezvous_fixture {
 protected:
  /// A call that waits for a change. \return its watch.
  std::weak_ptr<void> wait() {
    const auto watch = std::make_shared<int>();
    it.link.next_watch = watch;
    start(object(lease_core::rendezvous::type::latch, 2));
    it.answer(seen(2, {}));
    return watch;
  }
};

// The end of a watch takes the core lock, which the thread that ends a call has: it would wait for itself.
TEST_F(rendezvous_out_of_memory, end_no_watch_under_the_core_lock) {
  int failed = 0;
  bool fails_one = true;
  for (std::size_t which = 0; fails_one; ++which) {
    const std::weak_ptr<void> watch = wait();
    ASSERT_FALSE(watch.expired());
    it.time.turn([&] {
      try {
        const failing_allocation fails{which};
        calls.cancel(last);
        fails_one = failing_allocation::has_failed();
      } catch (const std::bad_alloc&) {
        ++failed;
      }
      EXPECT_FALSE(watch.expired()) << which;
    });
    it.time.turn([&] { calls.close(); });
    EXPECT_TRUE(watch.expired()) << which;
  }
  EXPECT_GE(failed, 2) << "the message, the end of the watch";
}

}  // namespace
}  // namespace holdfast
