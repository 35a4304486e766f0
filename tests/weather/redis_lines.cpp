// Connections that are cut, mute or slow.

#include <future>
#include <thread>

#include "support/fault_proxy.hpp"
#include "support/redis_server.hpp"
#include "support/witness.hpp"
#include "weather/weather.hpp"

namespace holdfast::weather {
namespace {

using test::direction;
using test::ending;
using test::fault_proxy;

class redis_lines : public testing::Test {
 protected:
  [[nodiscard]] std::string url(const std::string& options = {}) const {
    return "redis://127.0.0.1:" + std::to_string(line_.port()) + options;
  }
  /// Nothing of what was done on the bad line stays: the name is free, and nobody stands in its queue.
  void expect_free() {
    client direct{server_.url()};
    EXPECT_TRUE(mutex(direct, "stock").try_acquire_for(60s));
    while (!direct.list().empty()) std::this_thread::yield();
  }

  test::redis_server server_;
  fault_proxy line_{server_.port()};
};

TEST_F(redis_lines, cut_behind_any_byte_lose_nothing) {
  client locks{url()};
  mutex lock{locks, "stock"};
  fencing_token last;
  for (const auto way : {direction::to_client, direction::to_server}) {
    for (std::size_t bytes = 0; bytes < 240; bytes += 7) {
      line_.interfere(way, {.cut_after = bytes, .cut_by = bytes % 2 == 0 ? ending::reset : ending::finish});
      auto held = lock.acquire();
      EXPECT_GT(held.token(), last);
      last = held.token();
      EXPECT_FALSE(held.release());
    }
    line_.heal();
  }
  EXPECT_GT(line_.taken(), 20U) << "hardly anything was cut";
  expect_free();
}

TEST_F(redis_lines, cut_under_a_crowd_let_no_two_in) {
  const test::scratch_folder folder;
  const test::witness witness{folder.file("witness")};
  constexpr int turns = 60;
  std::vector<std::unique_ptr<actor>> crowd;
  for (int each = 0; each < 3; ++each) {
    crowd.push_back(std::make_unique<actor>());
    ASSERT_EQ(crowd.back()->ask("open " + url()), "open");
    crowd.back()->tell("crowd stock " + folder.file("witness") + ' ' + std::to_string(turns) +
                       " ttl=1500");  // a word that is lost with its connection costs a third of that
  }
  for (std::int64_t wanted = 10; wanted <= 150; wanted += 15) {
    // One who failed takes no more turns, and says why below.
    const auto patience = boot_clock::now() + 20s;
    while (witness.count() < wanted && boot_clock::now() < patience) std::this_thread::yield();
    line_.cut_all(wanted % 2 == 0 ? ending::reset : ending::finish);
  }
  for (const auto& each : crowd) EXPECT_EQ(hear_answer(*each), "crowded");
  EXPECT_EQ(witness.overlaps(), 0);
  EXPECT_EQ(witness.fragile_count(), turns * 3);
  crowd.clear();
  expect_free();
}

TEST_F(redis_lines, that_go_mute_cost_the_lease_and_no_more) {
  for (const auto way : {direction::to_client, direction::to_server}) {
    client locks{url("?answer_timeout=200ms&connect_timeout=200ms")};
    auto held = mutex{locks, "stock", lock_options{}.ttl(600ms)}.acquire();
    std::promise<void> lost;
    held.on_lost([&](std::error_code) { lost.set_value(); });
    line_.interfere(way, {.swallow = true});
    const auto failed = failure_of([&] { mutex{locks, "other", hasty()}.lock(); });
    EXPECT_TRUE(failed.code == errc::unavailable || failed.code == errc::unknown_outcome) << failed.text;
    ASSERT_EQ(lost.get_future().wait_for(60s), std::future_status::ready);
    EXPECT_FALSE(held.held());
    line_.heal();
    EXPECT_TRUE(mutex(locks, "other").try_lock_for(60s));
    EXPECT_EQ(held.release(), errc::lost);
    locks.close();
    expect_free();
  }
}

TEST_F(redis_lines, that_hold_back_for_a_while_cost_nothing) {
  client locks{url()};
  auto held = mutex{locks, "stock"}.acquire();
  line_.interfere(direction::to_client, {.stall = true});
  auto other = std::async(std::launch::async, [&] { return mutex{locks, "other"}.acquire(); });
  EXPECT_EQ(other.wait_for(100ms), std::future_status::timeout);
  line_.heal();
  EXPECT_TRUE(other.get().held());
  EXPECT_FALSE(held.release());
  EXPECT_EQ(line_.taken(), 1U) << "it was no reason to connect again";
}

TEST_F(redis_lines, that_are_slow_are_slow_and_no_more) {
  client locks{url()};
  mutex lock{locks, "stock"};
  lock.lock();
  lock.unlock();
  line_.interfere(direction::to_client, {.bytes_per_second = 500});
  for (int turn = 0; turn < 3; ++turn) EXPECT_FALSE(lock.acquire().release());
}

TEST_F(redis_lines, that_are_far_shorten_what_may_be_believed) {
  client locks{url()};
  mutex lock{locks, "stock", lock_options{}.ttl(10s)};
  lock.lock();
  lock.unlock();
  line_.interfere(direction::to_client, {.delay = 200ms});
  const auto held = lock.acquire();
  EXPECT_LE(held.remaining(), 9800ms) << "counted from the answer";
}

TEST_F(redis_lines, that_are_refused_say_so_and_are_tried_again) {
  client locks{url()};
  mutex lock{locks, "stock", hasty()};
  lock.lock();
  lock.unlock();
  line_.refuse(true);
  line_.cut_all(ending::reset);
  // What was sent before the cut was heard of may have been carried out; what is asked next surely was not.
  failure_of([&] { lock.lock(); });
  const auto failed = failure_of([&] { lock.lock(); });
  EXPECT_EQ(failed.code, errc::unavailable) << failed.text;
  EXPECT_THAT(failed.text, testing::HasSubstr("127.0.0.1:" + std::to_string(line_.port())));
  line_.refuse(false);
  EXPECT_TRUE(mutex(locks, "stock").try_lock_for(60s));
}

}  // namespace
}  // namespace holdfast::weather
