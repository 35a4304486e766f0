// SPDX-License-Identifier: Apache-2.0
// replicas=N with real replicas: a grant is believed when they have it, and given back when they do not.

#include <cstdint>
#include <future>
#include <thread>

#include "faults/faults.hpp"
#include "support/fault_proxy.hpp"
#include "support/redis_server.hpp"

namespace holdfast::faults {
namespace {

using test::direction;
using test::fault_proxy;
using test::redis_server;
using testing::HasSubstr;

class redis_replicas : public testing::Test {
 protected:
  redis_replicas() {
    far_.replicate(line_.port());
    near_.replicate(primary_);
    primary_.await_replicas(2);
    primary_.ask({"DEL", "first"});
    primary_.ask({"CONFIG", "RESETSTAT"});
  }

  [[nodiscard]] std::string url(int replicas, const std::string& wait = "60s") const {
    return primary_.url("?replicas=" + std::to_string(replicas) + "&replicas_wait=" + wait +
                        "&answer_timeout=120s");
  }
  std::string at(redis_server& server, const std::string& key = "holdfast:stock") {
    return server.ask({"GET", key});
  }
  /// How often replicas were waited for, since the scene was set.
  std::int64_t waits() { return primary_.calls("wait"); }
  /// A name that was used, and that nobody holds or waits for.
  void expect_nothing_left() {
    await([&] { return client{primary_.url()}.list().empty(); }, "a waiter has not withdrawn, behind us");
    EXPECT_EQ(primary_.ask({"KEYS", "*"}),
              "{holdfast:stock}\x1f"
              "fence");
  }

  redis_server primary_{{.lines = {"repl-diskless-sync-delay 0"}}};
  fault_proxy line_{primary_.port()};
  redis_server far_;   // a replica behind the line
  redis_server near_;  // and one that is not
};

TEST_F(redis_replicas, have_the_grant_when_the_call_returns) {
  line_.interfere(direction::to_client, {.delay = 100ms});
  client locks{url(2)};
  mutex lock{locks, "stock"};
  for (int turn = 0; turn < 3; ++turn) {
    const auto held = lock.acquire();
    EXPECT_EQ(at(far_), at(primary_));
    EXPECT_EQ(at(near_), at(primary_));
    EXPECT_THAT(at(far_), HasSubstr(std::to_string(held.token().value()))) << "its claim";
    EXPECT_EQ(far_.ask({"DUMP",
                        "{holdfast:stock}\x1f"
                        "fence"}),
              primary_.ask({"DUMP",
                            "{holdfast:stock}\x1f"
                            "fence"}));
  }
  const auto readers = shared_mutex{locks, "papers"}.acquire_shared();
  EXPECT_THAT(at(far_, "holdfast:papers"), testing::StartsWith("holdfast:shared 1 "));
  EXPECT_EQ(far_.ask({"ZCARD",
                      "{holdfast:papers}\x1f"
                      "holders"}),
            "3")
      << "its claim, and what finds it";
}

TEST_F(redis_replicas, know_nothing_of_a_grant_that_nobody_waited_for) {
  line_.interfere(direction::to_client, {.stall = true});
  client locks{primary_.url()};
  const auto held = mutex{locks, "stock"}.acquire();
  EXPECT_EQ(at(far_), "(nil)") << "the line would not hold back anything, and the test above see nothing";
}

TEST_F(redis_replicas, that_stand_still_cost_the_grant_and_leave_nothing_behind) {
  far_.stop();
  client locks{url(2, "200ms")};
  const auto before = boot_clock::now();
  const auto failed = failure_of([&] { (void)mutex{locks, "stock"}.try_lock(); });
  const auto took = boot_clock::now() - before;
  EXPECT_EQ(failed.code, errc::unavailable) << failed.text;
  EXPECT_THAT(failed.text, HasSubstr("2 replicas"));
  EXPECT_THAT(failed.text, HasSubstr("200 ms"));
  EXPECT_GE(took, 200ms);
  EXPECT_LT(took, 10s) << "the server's answer is due in 120 s, and a retry would go on for 10";
  expect_nothing_left();

  shared_mutex papers{locks, "stock", hasty()};
  EXPECT_EQ(known_failure_of([&] { papers.lock_shared(); }).code, errc::unavailable);
  expect_nothing_left();
}

TEST_F(redis_replicas, that_are_enough_are_enough) {
  far_.stop();
  client locks{url(1)};
  const auto held = mutex{locks, "stock"}.acquire();
  EXPECT_EQ(at(near_), at(primary_));
}

TEST_F(redis_replicas, that_come_back_are_waited_for_within_the_retry_limit) {
  far_.stop();
  client locks{url(2, "50ms")};
  auto other = std::async(std::launch::async, [&] { return mutex{locks, "stock"}.acquire(); });
  await([&] { return waits() > 1; }, "they are not asked again");
  far_.go_on();
  const auto held = other.get();
  EXPECT_TRUE(held.held());
  EXPECT_EQ(at(far_), at(primary_));
}

// WAIT waits for the last write of its own connection (Redis 7.2, Valkey), which a new one has not made yet.
TEST_F(redis_replicas, are_asked_for_a_grant_whose_reply_was_lost) {
  fault_proxy way{primary_.port()};
  client locks{"redis://127.0.0.1:" + std::to_string(way.port()) +
               "?replicas=2&replicas_wait=50ms&answer_timeout=120s&failover_guard=0"};
  EXPECT_TRUE(locks.list().empty()) << "and it is connected";
  far_.stop();
  way.interfere(direction::to_client, {.swallow = true});
  auto other = std::async(std::launch::async, [&] { return mutex{locks, "stock", patient()}.acquire(); });
  await([&] { return at(primary_) != "(nil)"; }, "it is not granted");
  way.cut_all(test::ending::reset);
  way.heal();
  const auto believed = [&] { return other.wait_for(0s) == std::future_status::ready; };
  await([&] { return waits() > 1 || believed(); }, "the grant is not looked for");
  EXPECT_FALSE(believed()) << "a replica does not have it";
  far_.go_on();
  const auto held = other.get();
  EXPECT_EQ(at(far_), at(primary_));
}

TEST_F(redis_replicas, have_what_was_handed_over) {
  client plain{primary_.url()};
  auto first = mutex{plain, "stock"}.acquire();
  client locks{url(2)};
  auto next = std::async(std::launch::async, [&] { return mutex{locks, "stock"}.acquire(); });
  expect_waiter(plain);
  line_.interfere(direction::to_client, {.delay = 100ms});
  const auto first_token = first.token();
  EXPECT_FALSE(first.release());
  const auto held = next.get();
  EXPECT_EQ(at(far_), at(primary_));
  EXPECT_GT(held.token(), first_token);
}

TEST_F(redis_replicas, that_stand_still_at_a_hand_over_cost_it_and_leave_nothing_behind) {
  client plain{primary_.url()};
  auto first = mutex{plain, "stock"}.acquire();
  client locks{url(2, "50ms")};
  auto next = std::async(std::launch::async,
                         [&] { return failure_of([&] { mutex{locks, "stock", hasty()}.lock(); }); });
  expect_waiter(plain);
  far_.stop();
  EXPECT_FALSE(first.release());
  const auto failed = next.get();
  EXPECT_EQ(failed.code, errc::unavailable) << failed.text;
  EXPECT_THAT(failed.text, HasSubstr("2 replicas"));
  expect_nothing_left();
}

TEST_F(redis_replicas, that_take_over_know_who_holds) {
  client locks{url(1)};
  near_.stop();  // so that it is the other one that has acknowledged it
  const auto held = mutex{locks, "stock"}.acquire();
  near_.go_on();
  primary_.kill();
  ASSERT_EQ(far_.ask({"REPLICAOF", "NO", "ONE"}), "OK");
  client others{far_.url()};
  EXPECT_FALSE(mutex(others, "stock").try_lock());
  const auto holders = others.inspect("stock").value_or(lock_state{}).holders;
  ASSERT_EQ(holders.size(), 1U);
  EXPECT_EQ(holders[0].token, held.token());
}

}  // namespace
}  // namespace holdfast::faults
