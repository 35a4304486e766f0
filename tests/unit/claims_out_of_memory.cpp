// Claims of a client for which one allocation fails: the caller hears of it, and nothing stays locked.

#include <chrono>
#include <gtest/gtest.h>
#include <new>
#include <optional>
#include <string>

#include "holdfast/client.hpp"
#include "holdfast/election.hpp"
#include "holdfast/error.hpp"
#include "holdfast/lock_set.hpp"
#include "holdfast/mutex.hpp"
#include "holdfast/options.hpp"
#include "unit/failing_allocations.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

/// Too long to be stored without an allocation.
const std::string stock = "stock: a name that is long enough for an allocation of its own";
const std::string basket = "basket: a name that is long enough for an allocation of its own";
const std::string store = "memory:claims_out_of_memory";

class claims_out_of_memory : public testing::Test {
 protected:
  /// Fails each allocation of a claim for the name in turn, until one succeeds.
  /// \param acquire what it returns releases the name when it is destroyed.
  /// \param size see failing_allocation.
  template <class Acquire>
  void fail_each(Acquire acquire, std::size_t size = 0) {
    bool fails_one = true;
    for (std::size_t which = 0; fails_one; ++which) {
      SCOPED_TRACE("allocation " + std::to_string(which));
      decltype(acquire()) held;
      {
        const test::failing_allocation fails{which, size};
        try {
          held = acquire();
        } catch (const std::bad_alloc&) {
          ++failed_;
        } catch (const error& e) {
          EXPECT_TRUE(e.code() == errc::exhausted || e.code() == errc::unknown_outcome) << e.what();
          ++failed_;
        }
        fails_one = test::failing_allocation::has_failed();
      }
      held.reset();
      ASSERT_TRUE(is_free()) << "a hold that nobody knows of is renewed for ever";
    }
  }
  /// Well before a ttl ends.
  [[nodiscard]] bool is_free() {
    lock_set of{other_, {lock_spec{basket}, lock_spec{stock}}};
    if (!of.try_lock_for(20s)) return false;
    of.unlock();
    return true;
  }

  client locks_{store};
  client other_{store};
  int failed_ = 0;
};

TEST_F(claims_out_of_memory, leave_nothing_of_a_lock) {
  mutex of{locks_, stock, lock_options{}.ttl(10min)};
  fail_each([&] { return std::optional{of.acquire()}; });
  EXPECT_GE(failed_, 10) << "the claim, its request, its operation, the lease";
}

TEST_F(claims_out_of_memory, leave_nothing_of_a_lock_with_a_limit) {
  mutex of{locks_, stock, lock_options{}.ttl(10min)};
  fail_each([&] { return of.try_acquire_for(1h); });
  EXPECT_GE(failed_, 10);
}

TEST_F(claims_out_of_memory, leave_nothing_of_a_set) {
  lock_set of{locks_, {lock_spec{basket}, lock_spec{stock}}, lock_options{}.ttl(10min)};
  fail_each([&] { return std::optional{of.acquire()}; });
  EXPECT_GE(failed_, 20);
}

TEST_F(claims_out_of_memory, leave_nothing_of_a_try_of_a_set) {
  lock_set of{locks_, {lock_spec{basket}, lock_spec{stock}}, lock_options{}.ttl(10min)};
  fail_each([&] { return of.try_acquire(); });
  EXPECT_GE(failed_, 20);
}

TEST_F(claims_out_of_memory, leave_nothing_of_a_campaign) {
  election of{locks_, stock, lock_options{}.ttl(10min)};
  // Copies of this value are the only allocations of their size. Those of the JSON library may not all fail:
  // its destructors allocate.
  const std::string value(172, 'v');
  fail_each([&] { return std::optional{of.campaign(value)}; }, value.size() + 1);
  EXPECT_GE(failed_, 2) << "the metadata, the term";
}

}  // namespace
}  // namespace holdfast
