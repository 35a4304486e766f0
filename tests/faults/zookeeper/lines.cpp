// SPDX-License-Identifier: Apache-2.0
// Connections to ZooKeeper that are cut or mute, and what a session makes of that; server_lines.cpp has the
// rest.

#include <atomic>
#include <thread>
#include <vector>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>

#include "faults/zookeeper/on_zookeeper.hpp"
#include "support/fault_proxy.hpp"
#include <holdfast/async.hpp>

namespace holdfast::faults {
namespace {

using test::direction;
using test::ending;
using test::fault_proxy;
using testing::HasSubstr;

class zookeeper_lines : public on_zookeeper {
 protected:
  /// Long sessions: what stays behind a cut does not go by itself.
  [[nodiscard]] std::string url(const std::string& options = "?session_timeout=10s") const {
    return "zk://127.0.0.1:" + std::to_string(line_.port()) + options;
  }
  static void expect_connected(client& locks) { mutex(locks, "warm").acquire().release(); }

  fault_proxy line_{server_.port()};
};

TEST_F(zookeeper_lines, cut_behind_more_and_more_bytes_lose_nothing) {
  client locks{url()};
  mutex lock{locks, "stock"};
  counting_semaphore permits{locks, "pool", 4};
  fencing_token last;
  for (const auto way : {direction::to_client, direction::to_server}) {
    for (std::size_t bytes = 0; bytes < 430; bytes += 43) {
      line_.interfere(way, {.cut_after = bytes, .cut_by = bytes % 2 == 0 ? ending::reset : ending::finish});
      auto held = lock.acquire();
      auto two = permits.acquire_permits(2);
      EXPECT_EQ(expect_contenders(1).size(), 1U) << "the lost reply's node stays";
      EXPECT_GT(held.token(), last);
      last = held.token();
      EXPECT_FALSE(held.release());
      EXPECT_FALSE(two.release());
    }
    line_.heal();
  }
  EXPECT_GT(line_.taken(), 10U) << "hardly anything was cut";
  // The session lives, and nothing stays behind.
  expect_connected(locks);
  for (const auto* path : {"/stock", "/pool/locks", "/pool/leases"}) {
    await([&] { return console_.children(path).empty(); }, path);
  }
}

TEST_F(zookeeper_lines, that_lose_the_reply_to_a_claim_have_it_found_again) {
  client locks{url()};
  mutex lock{locks, "stock"};
  lock.acquire().release();
  expect_contenders(0);
  const auto cuts = line_.taken();
  line_.interfere(direction::to_client, {.cut_after = 0});
  auto held = lock.acquire();
  EXPECT_GT(line_.taken(), cuts) << "no reply was lost";
  const auto nodes = expect_contenders(1);
  EXPECT_EQ(held.renew(), renewal::renewed);
  // One that waits likewise keeps its place.
  client others{url()};
  expect_connected(others);
  line_.interfere(direction::to_client, {.swallow = true});
  auto next = std::async(std::launch::async, [&] { return mutex{others, "stock"}.acquire(); });
  const auto queue = expect_contenders(2);
  line_.heal();
  const auto held_token = held.token();
  EXPECT_FALSE(held.release());
  const auto granted = next.get();
  EXPECT_GT(granted.token(), held_token);
  EXPECT_EQ(expect_contenders(1)[0], queue[1]) << "it came anew";
}

TEST_F(zookeeper_lines, that_lose_the_reply_to_a_release_have_it_confirmed) {
  client locks{url()};
  mutex lock{locks, "stock"};
  auto held = lock.acquire();
  const auto cuts = line_.taken();
  line_.interfere(direction::to_client, {.cut_after = 0});
  const auto answer = held.release();
  EXPECT_TRUE(!answer || answer == errc::lost) << answer.message();
  EXPECT_GT(line_.taken(), cuts) << "no reply was lost";
  expect_contenders(0);
}

TEST_F(zookeeper_lines, that_are_gone_at_the_unlock_carry_it_when_they_are_back) {
  client locks{url("?session_timeout=40s")};
  mutex lock{locks, "stock", patient()};
  lock.lock();
  line_.refuse(true);
  line_.cut_all(ending::reset);
  lock.unlock();
  // Longer than anybody who wants to hear of it waits.
  while (failure_of([&] { mutex(locks, "other", hasty()).lock(); }).code != errc::unavailable) {
  }
  EXPECT_EQ(console_.children("/stock").size(), 1U);
  line_.refuse(false);
  expect_contenders(0);
  EXPECT_TRUE(mutex(locks, "stock").try_lock_for(60s));
}

// Several threads may fail what could not be sent; what was asked first is answered first.
TEST_F(zookeeper_lines, that_are_refused_leave_no_doubt_whether_a_claim_was_sent) {
  client locks{url()};
  line_.refuse(true);
  line_.cut_all(ending::reset);
  await([&] { return failure_of([&] { mutex{locks, "stock", hasty()}.lock(); }).code == errc::unavailable; },
        "the connection is not given up");
  std::vector<std::jthread> threads;
  std::atomic<int> doubtful{0};
  for (int each = 0; each < 8; ++each) {
    threads.emplace_back([&, name = "stock " + std::to_string(each)] {
      const auto once = lock_options{}.retry(retry_policy{}.limit(0s));
      for (int time = 0; time < 1000; ++time) {
        if (failure_of([&] { (void)mutex{locks, name, once}.try_lock(); }).code != errc::unavailable)
          ++doubtful;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(doubtful, 0);
}

// The C client sets all watches again in one packet, which the server refuses from 1 MiB on.
TEST_F(zookeeper_lines, cut_under_many_leases_with_long_names_are_made_anew) {
  constexpr std::size_t count = 2500;
  client locks{url("?session_timeout=40s"), client_options{}.locks(endless().ttl(600s))};
  const std::string name(440, 'n');
  boost::asio::io_context context;
  std::vector<lease> held;
  for (std::size_t i = 0; i < count; ++i) {
    mutex{locks, name + std::to_string(i)}.async_acquire(
        boost::asio::bind_executor(context, [&](const boost::system::error_code& failed, lease granted) {
          EXPECT_FALSE(failed) << failed.message();
          held.push_back(std::move(granted));
        }));
  }
  context.run();
  ASSERT_EQ(held.size(), count);
  // Which has their nodes watched, as far as there is room.
  for (auto& each : held) EXPECT_EQ(each.renew(), renewal::renewed);
  EXPECT_GT(server_.monitored("zk_watch_count"), 1000);
  line_.cut_all(ending::reset);
  EXPECT_TRUE(mutex(locks, "another").acquire().held());
  EXPECT_TRUE(held.front().held());
  EXPECT_EQ(held.back().renew(), renewal::renewed);
  EXPECT_THAT(server_.log(), testing::Not(HasSubstr("Len error")));
}

}  // namespace
}  // namespace holdfast::faults

#if defined(__SANITIZE_ADDRESS__)
// Apache's C client has malloc say no to the length of what is none.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}
#endif
