// Who holds, and who waits, when one of the two is another library's client.

#include <csignal>
#include <future>
#include <gmock/gmock.h>

#include "interop/redis_libraries.hpp"
#include <holdfast/holdfast.hpp>

namespace holdfast::interop {
namespace {

using namespace std::chrono_literals;

template <class Other>
class redis_interop : public testing::Test {
 protected:
  test::redis_server server_;
  client locks_{server_.url("?prefix=")};
  mutex lock_{locks_, "stock"};
  Other other_{server_};
};

using others = testing::Types<redis_py, redlock>;
class names {
 public:
  template <class Other>
  static std::string GetName(int) {
    return std::is_same_v<Other, redis_py> ? "redis_py" : "redlock";
  }
};
TYPED_TEST_SUITE(redis_interop, others, names);

TYPED_TEST(redis_interop, ours_waits_for_the_other_to_release) {
  ASSERT_EQ(this->other_.ask("hold stock ttl=60000"), "held");
  EXPECT_FALSE(this->lock_.try_acquire());
  EXPECT_FALSE(this->lock_.try_acquire_for(2s));
  auto waiting = std::async(std::launch::async, [this] { return this->lock_.acquire(); });
  const auto wait_limit = boot_clock::now() + 60s;
  while (this->locks_.inspect("stock").value_or(lock_state{}).waiters.empty()) {
    ASSERT_LT(boot_clock::now(), wait_limit) << "nobody waits";
    std::this_thread::sleep_for(1ms);
  }
  const auto value = this->server_.ask({"GET", "stock"});
  EXPECT_EQ(waiting.wait_for(300ms), std::future_status::timeout);
  EXPECT_EQ(this->server_.ask({"GET", "stock"}), value) << "what is not ours is not touched";
  EXPECT_EQ(this->other_.ask("release"), "released");
  ASSERT_EQ(waiting.wait_for(60s), std::future_status::ready);
  EXPECT_TRUE(waiting.get().held());
}

TYPED_TEST(redis_interop, ours_waits_until_the_other_has_expired) {
  ASSERT_EQ(this->other_.ask("hold stock ttl=3000"), "held");
  this->other_.kill();
  const auto held = this->lock_.acquire();
  EXPECT_TRUE(held.held());
}

TYPED_TEST(redis_interop, the_other_waits_for_ours) {
  auto held = this->lock_.acquire();
  EXPECT_EQ(this->other_.ask("hold stock ttl=60000 within=0"), "refused");
  this->other_.tell("hold stock ttl=60000");
  EXPECT_FALSE(held.release());
  EXPECT_EQ(this->other_.hear(), "held");
  EXPECT_FALSE(this->lock_.try_acquire());
}

TYPED_TEST(redis_interop, neither_releases_what_the_other_holds_now) {
  ASSERT_EQ(this->other_.ask("hold stock ttl=3000"), "held");
  auto held = this->lock_.acquire();
  EXPECT_THAT(this->other_.ask("release"), testing::StartsWith("failed"));
  EXPECT_EQ(held.renew(), renewal::renewed);
  this->server_.ask({"DEL", "stock"});
  ASSERT_EQ(this->other_.ask("hold stock ttl=60000"), "held");
  EXPECT_EQ(held.release(), errc::lost);
  EXPECT_EQ(this->other_.ask("release"), "released");
}

TYPED_TEST(redis_interop, our_readers_keep_the_other_out) {
  shared_mutex door{this->locks_, "stock"};
  auto first = door.acquire_shared();
  auto second = door.acquire_shared();
  EXPECT_EQ(this->other_.ask("hold stock ttl=60000 within=0"), "refused");
  EXPECT_FALSE(first.release());
  EXPECT_EQ(this->other_.ask("hold stock ttl=60000 within=0"), "refused");
  EXPECT_FALSE(second.release());
  EXPECT_EQ(this->other_.ask("hold stock ttl=60000 within=0"), "held");
}

TYPED_TEST(redis_interop, the_other_is_seen) {
  ASSERT_EQ(this->other_.ask("hold stock ttl=60000"), "held");
  const auto state = this->locks_.inspect("stock");
  ASSERT_TRUE(state);
  EXPECT_EQ(state->holders.size(), 1U);
}

// redis-py's default: a key that nobody but its holder removes.
TEST(redis_py_interop, without_a_ttl_it_is_waited_for_all_the_same) {
  test::redis_server server;
  client locks{server.url("?prefix=")};
  mutex lock{locks, "stock"};
  redis_py other{server};
  ASSERT_EQ(other.ask("hold stock"), "held");
  EXPECT_FALSE(lock.try_acquire_for(2s));
  EXPECT_EQ(server.ask({"PTTL", "stock"}), "-1");
  EXPECT_EQ(other.ask("release"), "released");
  EXPECT_TRUE(lock.try_acquire_for(60s));
}

}  // namespace
}  // namespace holdfast::interop
