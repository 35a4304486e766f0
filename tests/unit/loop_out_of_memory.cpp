// Descriptors that cannot be listened to.

#include <cstddef>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <memory>
#include <new>
#include <sys/eventfd.h>
#include <unistd.h>

#include "runtime/event_loop.hpp"
#include "unit/failing_allocations.hpp"

namespace holdfast::runtime {
namespace {

/// Fails each allocation in turn, until a descriptor is listened to. \return how many have failed.
template <class Failure>
int fail_each_allocation() {
  event_loop loop;
  const int descriptor = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::shared_ptr<void> listening;
  int failed = 0;
  while (!listening) {
    try {
      const Failure fails{static_cast<std::size_t>(failed)};
      listening = loop.on_readable(descriptor, [] {});
    } catch (const std::bad_alloc&) {
      ++failed;
    }
    EXPECT_NE(::fcntl(descriptor, F_GETFD), -1) << "closed where allocation " << failed << " has failed";
  }
  listening.reset();
  ::close(descriptor);
  return failed;
}

// Closed by the loop, it would be closed again by the caller: by then it may be the number of another file.
TEST(loop_out_of_memory, leaves_the_descriptor_to_the_caller) {
  EXPECT_GE(fail_each_allocation<test::failing_allocation>(), 1);
  fail_each_allocation<test::failing_aligned_allocation>();
}

}  // namespace
}  // namespace holdfast::runtime
