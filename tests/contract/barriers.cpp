// barrier: all wait for all, phase after phase, and what becomes of those that die.

#include <array>
#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include "contract/contract.hpp"
#include "support/actor.hpp"
#include <holdfast/async.hpp>

namespace holdfast::contract {
namespace {

namespace asio = boost::asio;
using testing::HasSubstr;

/// Patient enough for a busy machine. What a test leaves at the store is ended by force.
lock_options steady() { return lock_options{}.ttl(120s).retry(retry_policy{}.limit(50s)); }

asio::awaitable<std::uint64_t> passed_by(barrier& party) {
  const std::uint64_t phase = co_await party.async_arrive_and_wait();
  co_return phase;
}

class barriers : public on_each_store {
 protected:
  void TearDown() override {
    bystander().force_release("round");
    on_each_store::TearDown();
  }
  arrivals seen(std::ptrdiff_t expected) { return barrier{bystander(), "round", expected}.inspect(); }
  bool sees_arrived(std::ptrdiff_t count, std::ptrdiff_t expected) {
    return look().sees([&] { return seen(expected).arrived == count; });
  }
  /// Until its arrival is there, which takes a while on a busy machine. The others are missing.
  bool arrive_alone(barrier& party, std::ptrdiff_t expected) {
    return look().sees([&] {
      EXPECT_FALSE(party.arrive_and_wait_for(0s));
      return seen(expected).arrived == 1;
    });
  }
  static std::future<std::uint64_t> arrive(barrier& party) {
    return std::async(std::launch::async, [&party] { return party.arrive_and_wait(); });
  }
};

TEST_P(barriers, hold_each_party_until_all_have_arrived) {
  constexpr int parties = 4;
  constexpr int phases = 6;
  std::array<std::atomic<int>, phases> arrived{};
  std::atomic<int> too_early{0};
  {
    std::vector<std::jthread> threads;
    for (int each = 0; each < parties; ++each) {
      threads.emplace_back([&, &locks = each % 2 == 0 ? one() : two()] {
        barrier round{locks, "round", parties, steady()};
        for (std::size_t phase = 0; phase < phases; ++phase) {
          ++arrived.at(phase);
          if (round.arrive_and_wait() != phase || arrived.at(phase) != parties) ++too_early;
        }
      });
    }
  }
  EXPECT_EQ(too_early, 0);
  EXPECT_EQ(seen(parties).phase, phases) << "what they leave says that they have passed the last one";
}

TEST_P(barriers, keep_an_arrival_after_a_limit) {
  barrier early{one(), "round", 2, steady().label("shard 1")};
  ASSERT_TRUE(arrive_alone(early, 2));
  EXPECT_FALSE(early.arrive_and_wait_for(20ms));
  EXPECT_FALSE(early.arrive_and_wait_until(std::chrono::steady_clock::now() + 20ms));
  const auto waits = seen(2);
  EXPECT_EQ(waits.phase, 0U);
  EXPECT_EQ(waits.expected, 2);
  EXPECT_EQ(waits.arrived, 1) << "one party, however often it has tried";
  ASSERT_EQ(waits.parties.size(), 1U);
  EXPECT_EQ(waits.parties[0].label, "shard 1");
  std::stop_source stop;
  auto waiting = std::async(std::launch::async, [&] { return early.arrive_and_wait(stop.get_token()); });
  EXPECT_EQ(waiting.wait_for(10ms), std::future_status::timeout);
  stop.request_stop();
  EXPECT_FALSE(waiting.get());
  barrier late{two(), "round", 2, steady()};
  EXPECT_EQ(late.arrive_and_wait_for(60s), 0U) << "the other one is there, though no call of it waits";
  EXPECT_EQ(early.arrive_and_wait(), 0U);
  auto next = arrive(late);
  EXPECT_EQ(early.arrive_and_wait(), 1U);
  EXPECT_EQ(next.get(), 1U);
}

TEST_P(barriers, name_those_who_are_there) {
  barrier round{one(), "round", 3, steady().wait_limit(20ms)};
  try {
    round.arrive_and_wait();
    FAIL() << "two are missing";
  } catch (const error& failed) {
    EXPECT_EQ(failed.code(), errc::timeout);
    EXPECT_THAT(failed.what(), HasSubstr("the barrier 'round' on "));
    EXPECT_THAT(failed.what(), HasSubstr(" of 3 have arrived"));
  }
}

// The faster one passes, and is gone with its client, before the slower one has looked.
TEST_P(barriers, let_slow_parties_pass_when_the_others_have_left) {
  barrier slow{one(), "round", 2, steady()};
  ASSERT_TRUE(arrive_alone(slow, 2));
  {
    barrier fast{two(), "round", 2, steady()};
    EXPECT_EQ(fast.arrive_and_wait(), 0U);
  }
  two().close();
  EXPECT_EQ(slow.arrive_and_wait(), 0U);
}

// And no party of another run passes because of what they have left.
TEST_P(barriers, begin_a_new_phase_after_all_have_left) {
  for (int run = 0; run < 2; ++run) {
    barrier other{two(), "round", 2, steady()};
    auto waiting = arrive(other);
    barrier{one(), "round", 2, steady()}.arrive_and_wait();
    waiting.get();
  }
  barrier lonely{one(), "round", 2, steady()};
  EXPECT_FALSE(lonely.arrive_and_wait_for(50ms));
  EXPECT_EQ(seen(2).phase, 2U);
}

TEST_P(barriers, tell_a_party_that_its_arrival_is_lost) {
  // ZooKeeper watches the nodes of an arrival from the first renewal on, after a third of the ttl.
  barrier round{one(), "round", 2, steady().ttl(6s)};
  auto waiting = std::async(std::launch::async, [&] {
    try {
      round.arrive_and_wait();
    } catch (const error& failed) {
      return failed.code();
    }
    return std::error_code{};
  });
  ASSERT_TRUE(
      look().sees([&] { return seen(2).arrived == 1 || waiting.wait_for(0s) == std::future_status::ready; }));
  // The reply to the claim may come after the first time; then it arrives anew.
  do {
    bystander().force_release("round");
  } while (waiting.wait_for(100ms) != std::future_status::ready);
  EXPECT_EQ(waiting.get(), errc::lost);
  barrier other{two(), "round", 2, steady()};
  auto again = arrive(other);
  EXPECT_EQ(insist([&] { return round.arrive_and_wait(); }), 0U) << "it arrives anew";
  EXPECT_EQ(again.get(), 0U);
}

TEST_P(barriers, withdraw_the_arrival_of_a_party_that_goes) {
  {
    barrier goes{one(), "round", 2, steady()};
    ASSERT_TRUE(arrive_alone(goes, 2));
  }
  EXPECT_TRUE(sees_arrived(0, 2));
}

TEST_P(barriers, take_one_call_of_a_party_at_a_time) {
  barrier round{one(), "round", 2, steady()};
  auto waiting = arrive(round);
  ASSERT_TRUE(sees_arrived(1, 2));
  try {
    (void)round.arrive_and_wait_for(0s);
    ADD_FAILURE() << "it waits already";
  } catch (const error& failed) {
    EXPECT_EQ(failed.code(), errc::invalid_argument);
  }
  EXPECT_EQ(barrier(two(), "round", 2, steady()).arrive_and_wait(), 0U);
  EXPECT_EQ(waiting.get(), 0U);
  EXPECT_THROW(barrier(one(), "round", 0), error);
  EXPECT_THROW(barrier(one(), "round", barrier::max() + 1), error);
  EXPECT_THROW((void)barrier(one(), "round", 3, steady()).arrive_and_wait(), error) << "another number";
}

TEST_P(barriers, come_asynchronously) {
  barrier one_party{one(), "round", 2, steady()};
  barrier other_party{two(), "round", 2, steady()};
  EXPECT_FALSE(one_party.async_arrive_and_wait_for(20ms, asio::use_future).get());
  auto waiting = one_party.async_arrive_and_wait(asio::use_future);
  EXPECT_EQ(other_party.async_arrive_and_wait(holdfast::with_diagnostics(asio::use_future)).get(), 0U);
  EXPECT_EQ(waiting.get(), 0U);
  auto next = one_party.async_arrive_and_wait_for(60s, asio::use_future);
  EXPECT_EQ(other_party.arrive_and_wait(), 1U);
  EXPECT_EQ(next.get(), 1U);
  auto third =
      one_party.async_arrive_and_wait_until(std::chrono::steady_clock::now() + 60s, asio::use_future);
  EXPECT_EQ(asio::co_spawn(loop_, passed_by(other_party), asio::use_future).get(), 2U);
  EXPECT_EQ(third.get(), 2U);
  auto closing = one_party.async_arrive_and_wait(holdfast::with_diagnostics(asio::use_future));
  ASSERT_TRUE(sees_arrived(1, 2));
  one().close();
  EXPECT_THROW(closing.get(), error);
  EXPECT_THROW(one_party.async_arrive_and_wait(holdfast::with_diagnostics(asio::use_future)).get(), error);
}

TEST_P(barriers, are_cancelled_and_go_on) {
  barrier round{one(), "round", 2, steady()};
  asio::io_context loop;
  asio::cancellation_signal cancel;
  boost::system::error_code completion;
  round.async_arrive_and_wait(asio::bind_cancellation_slot(
      cancel.slot(),
      asio::bind_executor(loop, [&](boost::system::error_code code, std::uint64_t) { completion = code; })));
  ASSERT_TRUE(sees_arrived(1, 2));
  cancel.emit(asio::cancellation_type::terminal);
  loop.run();
  EXPECT_EQ(completion, errc::cancelled);
  barrier other{two(), "round", 2, steady()};
  auto waiting = arrive(other);
  EXPECT_EQ(round.arrive_and_wait(), 0U);
  EXPECT_EQ(waiting.get(), 0U);
}

TEST_P(barriers, go_on_when_the_store_answers_again) {
  if (!kind_.breakable) GTEST_SKIP() << "this store does not stop";
  barrier round{one(), "round", 2, steady()};
  auto waiting = arrive(round);
  ASSERT_TRUE(sees_arrived(1, 2));
  store_->stop_answering();
  barrier other{two(), "round", 2, steady()};
  auto last = arrive(other);
  EXPECT_EQ(last.wait_for(200ms), std::future_status::timeout);
  store_->answer_again();
  EXPECT_EQ(last.get(), 0U);
  EXPECT_EQ(waiting.get(), 0U);
}

TEST_P(barriers, hold_processes) {
  if (!kind_.across_processes) GTEST_SKIP() << "this store has one process";
  std::vector<std::unique_ptr<test::actor>> children;
  for (int each = 0; each < 4; ++each) {
    children.push_back(std::make_unique<test::actor>());
    ASSERT_EQ(children.back()->ask("open " + store_->url()), "open");
  }
  for (const auto& each : children) each->tell("meet round 4 5 ttl=120000");
  for (const auto& each : children) EXPECT_EQ(each->hear(), "met 4");
}

TEST_P(barriers, are_passed_by_one_that_takes_the_place_of_the_dead) {
  if (!kind_.across_processes) GTEST_SKIP() << "this store has one process";
  test::actor dies;
  ASSERT_EQ(dies.ask("open " + store_->url()), "open");
  barrier round{one(), "round", 2, steady()};
  dies.tell("meet round 2 1 ttl=120000");
  EXPECT_EQ(round.arrive_and_wait(), 0U);
  EXPECT_EQ(dies.hear(), "met 0");
  dies.kill();  // between two phases
  ASSERT_TRUE(arrive_alone(round, 2));
  barrier instead{two(), "round", 2, steady()};
  EXPECT_EQ(instead.arrive_and_wait(), 1U);
  EXPECT_EQ(round.arrive_and_wait(), 1U);
}

TEST_P(barriers, count_a_party_that_died_after_it_had_arrived) {
  if (!kind_.across_processes) GTEST_SKIP() << "this store has one process";
  test::actor dies;
  ASSERT_EQ(dies.ask("open " + store_->url()), "open");
  dies.tell("meet round 2 1 ttl=120000");
  ASSERT_TRUE(sees_arrived(1, 2));
  dies.kill();
  EXPECT_EQ(seen(2).arrived, 1);
  EXPECT_EQ(barrier(one(), "round", 2, steady()).arrive_and_wait(), 0U);
}

HOLDFAST_ON_EACH_STORE(barriers, has_latches);

}  // namespace
}  // namespace holdfast::contract
