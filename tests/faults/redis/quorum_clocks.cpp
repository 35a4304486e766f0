// Wall clocks of servers that jump: of one, as in Kleppmann's example of an adjusted NTP, and of a majority.
// Keys of a Redis server end by its wall clock.

#include <future>
#include <string>

#include "faults/faults.hpp"
#include "support/fenced_register.hpp"
#include "support/redis_quorum.hpp"

namespace holdfast::faults {
namespace {

using test::redis_quorum;

class redis_quorum_clocks : public testing::Test {
 protected:
  void set_clocks(std::initializer_list<std::size_t> of, std::chrono::milliseconds ahead) {
    for (const std::size_t each : of) servers_.server(each).set_clock(ahead);
  }
  void await_hold_on(std::size_t count) {
    await([&] { return servers_.holds_of("stock") == count; }, "the hold is on other servers");
  }
  static lock_options fixed(duration ttl) {
    return lock_options{}.ttl(ttl).renewal(false).retry(patient().retry());
  }

  redis_quorum servers_{{.own_clock = true}};
  std::string url_ = servers_.url("?node_timeout=20s");  // whatever the machine does, nobody is silent
  client one_{url_};
  client two_{url_};
};

class redis_quorum_kleppmann_clock : public redis_quorum_clocks,
                                     public testing::WithParamInterface<std::chrono::seconds> {};

TEST_P(redis_quorum_kleppmann_clock, jump_on_one_server_lets_nobody_else_in) {
  auto held = mutex{one_, "stock", lock_options{}.ttl(60s)}.acquire();
  await_hold_on(5);
  auto next = std::async(std::launch::async, [&] { return mutex{two_, "stock", patient()}.acquire(); });
  expect_waiter(one_);
  set_clocks({1}, GetParam());
  client newcomer{url_};
  EXPECT_FALSE(mutex(newcomer, "stock").try_lock());
  for (int each = 0; each < 3; ++each) EXPECT_EQ(renew(held), renewal::renewed);
  EXPECT_FALSE(mutex(newcomer, "stock").try_lock());
  EXPECT_EQ(next.wait_for(0s), std::future_status::timeout);
  EXPECT_TRUE(held.held());
  const auto state = newcomer.inspect("stock").value_or(lock_state{});
  EXPECT_EQ(state.holders.size(), 1U);
  EXPECT_EQ(state.waiters.size(), 1U);
  EXPECT_FALSE(held.release());
  const auto next_one = next.get();
  EXPECT_GT(next_one.token(), held.token());
  EXPECT_TRUE(next_one.held());
}

TEST_P(redis_quorum_kleppmann_clock, jump_on_one_server_and_back_leaves_tokens_rising) {
  fencing_token last;
  const auto turn = [&](client& by) {
    auto held = mutex{by, "stock", patient()}.acquire();
    EXPECT_GT(held.token(), last);
    last = held.token();
    EXPECT_FALSE(held.release());
  };
  for (const auto ahead : {0s, GetParam(), 0s, GetParam()}) {
    set_clocks({3}, ahead);
    turn(one_);
    turn(two_);
    client newcomer{url_};
    turn(newcomer);
  }
}

INSTANTIATE_TEST_SUITE_P(, redis_quorum_kleppmann_clock, testing::Values(3600s, -3600s),
                         [](const auto& info) { return info.param > 0s ? "forward" : "back"; });

// The control, as docs/stores/redlock.md says: two hold, until the first of them asks the servers again. Only
// the tokens tell them apart.
TEST_F(redis_quorum_clocks, set_forward_on_a_majority_let_two_in_whom_tokens_tell_apart) {
  const test::scratch_folder folder;
  test::fenced_register storage{folder.file("storage")};
  auto first = mutex{one_, "stock", fixed(60s)}.acquire();
  await_hold_on(5);
  EXPECT_TRUE(storage.write(first.token()));
  set_clocks({0, 2, 4}, 1h);
  auto second = mutex{two_, "stock", patient()}.acquire();
  EXPECT_TRUE(first.held());
  EXPECT_TRUE(second.held());
  EXPECT_GT(second.token(), first.token());
  EXPECT_TRUE(storage.write(second.token()));
  EXPECT_FALSE(storage.write(first.token())) << "a resource that checks tokens has accepted a stale one";
  EXPECT_EQ(renew(first), renewal::lost);
  EXPECT_FALSE(first.held());
  EXPECT_EQ(renew(second), renewal::renewed);
}

TEST_F(redis_quorum_clocks, set_back_on_a_majority_let_nobody_else_in) {
  auto held = mutex{one_, "stock", lock_options{}.ttl(60s)}.acquire();
  await_hold_on(5);
  set_clocks({0, 2, 4}, -1h);
  client newcomer{url_};
  EXPECT_FALSE(mutex(newcomer, "stock").try_lock());
  EXPECT_EQ(renew(held), renewal::renewed);
  EXPECT_FALSE(mutex(newcomer, "stock").try_lock());
  EXPECT_FALSE(held.release());
  EXPECT_GT(mutex(two_, "stock", patient()).acquire().token(), held.token());
}

TEST_F(redis_quorum_clocks, set_forward_on_a_majority_and_back_leave_locks_that_can_be_taken) {
  set_clocks({0, 2, 4}, 1h);
  const auto before = mutex{one_, "stock", patient()}.acquire().token();
  set_clocks({0, 2, 4}, 0s);
  EXPECT_GT(mutex(two_, "stock", patient()).acquire().token(), before);
}

}  // namespace
}  // namespace holdfast::faults
