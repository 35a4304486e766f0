// latch: open when all have counted down, and what stays of a count.

#include <future>
#include <memory>
#include <vector>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include "contract/contract.hpp"
#include "support/actor.hpp"
#include <holdfast/async.hpp>

namespace holdfast::contract {
namespace {

namespace asio = boost::asio;
using testing::HasSubstr;

std::error_code code_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const error& failed) {
    return failed.code();
  }
  return {};
}

/// Patient enough for a busy machine. What a test leaves at the store is ended by force.
lock_options patient() { return lock_options{}.ttl(120s).retry(retry_policy{}.limit(50s)); }

class latches : public on_each_store {
 protected:
  void TearDown() override {
    bystander().force_release("ready");
    on_each_store::TearDown();
  }
  std::ptrdiff_t counted(std::ptrdiff_t expected = 3) {
    return latch{bystander(), "ready", expected}.inspect().arrived;
  }
  /// With a ttl of a second. A busy machine may take as long for the answer alone, and then for the
  /// withdrawal of the claim that came too late: it is asked again.
  std::unique_ptr<latch> count_briefly(std::ptrdiff_t n, bool renews) {
    auto ready = std::make_unique<latch>(one(), "ready", 3, patient().ttl(1s).renewal(renews));
    std::error_code code;
    EXPECT_TRUE(look().sees([&] {
      code = code_of([&] { ready->count_down(n); });
      return code != errc::lost && code != errc::unavailable;
    }));
    EXPECT_FALSE(code) << code.message();
    return ready;
  }
  bool sees_counted(std::ptrdiff_t count) {
    return look().sees([&] { return counted() == count; });
  }
};

TEST_P(latches, open_when_all_have_counted_down) {
  latch here{one(), "ready", 3, patient().label("shard 1")};
  latch there{two(), "ready", 3, patient()};
  EXPECT_EQ(here.name(), "ready");
  EXPECT_FALSE(here.inspect().is_complete());
  auto waiting = std::async(std::launch::async, [&] { there.wait(); });
  EXPECT_FALSE(there.try_wait());
  here.count_down();
  EXPECT_FALSE(there.try_wait());
  const auto seen = there.inspect();
  EXPECT_EQ(seen.expected, 3);
  EXPECT_EQ(seen.arrived, 1);
  ASSERT_EQ(seen.parties.size(), 1U);
  EXPECT_EQ(seen.parties[0].label, "shard 1");
  EXPECT_FALSE(seen.parties[0].value);
  EXPECT_EQ(waiting.wait_for(0s), std::future_status::timeout);
  there.count_down(2);
  waiting.get();
  EXPECT_TRUE(here.try_wait());
  here.wait();
  EXPECT_TRUE(here.inspect().is_complete());
}

TEST_P(latches, let_the_last_that_arrives_pass_with_the_others) {
  std::vector<std::future<void>> parties;
  for (int each = 0; each < 5; ++each) {
    client& locks = each % 2 == 0 ? one() : two();
    parties.push_back(
        std::async(std::launch::async, [&locks] { latch{locks, "ready", 5, patient()}.arrive_and_wait(); }));
  }
  for (auto& each : parties) each.get();
  EXPECT_EQ(counted(5), 5) << "the counts stay when the objects are gone";
}

TEST_P(latches, refuse_a_count_beyond_what_is_expected) {
  latch ready{one(), "ready", 3, patient()};
  ready.count_down(2);
  EXPECT_EQ(code_of([&] { ready.count_down(2); }), errc::invalid_argument);
  EXPECT_EQ(counted(), 2) << "all or nothing";
  ready.count_down();
  EXPECT_EQ(code_of([&] { latch(two(), "ready", 3, patient()).count_down(); }), errc::invalid_argument);
  EXPECT_EQ(counted(), 3);
  for (const std::ptrdiff_t n : {-1, 0, 4}) {
    EXPECT_EQ(code_of([&] { ready.count_down(n); }), errc::invalid_argument) << n;
  }
  for (const std::ptrdiff_t n : {std::ptrdiff_t{-1}, std::ptrdiff_t{0}, latch::max() + 1}) {
    EXPECT_EQ(code_of([&] { latch(one(), "ready", n); }), errc::invalid_argument) << n;
  }
  EXPECT_EQ(code_of([&] { latch(one(), "", 3); }), errc::invalid_name);
}

TEST_P(latches, keep_the_counts_of_a_client_that_is_closed) {
  latch ready{one(), "ready", 3, patient()};
  ready.count_down(2);
  one().close();
  EXPECT_EQ(counted(), 2);
  EXPECT_EQ(code_of([&] { ready.count_down(); }), errc::closed);
  EXPECT_EQ(code_of([&] { ready.wait(); }), errc::closed);
  latch other{two(), "ready", 3, patient()};
  other.arrive_and_wait();
}

TEST_P(latches, are_new_when_the_ttl_of_all_counts_is_over) {
  count_briefly(3, true).reset();
  EXPECT_TRUE(sees_counted(0));
  latch ready{two(), "ready", 3, patient()};
  EXPECT_FALSE(ready.try_wait());
  ready.count_down(3);
  EXPECT_TRUE(ready.try_wait());
}

TEST_P(latches, do_not_renew_a_count_where_the_options_say_so) {
  const auto ready = count_briefly(1, false);
  EXPECT_TRUE(sees_counted(0));
}

TEST_P(latches, refuse_a_rest_after_a_claim) {
  client_options rests;
  rests.locks(patient().at_least(1s));
  client& locks = open(rests);
  EXPECT_EQ(code_of([&] { latch(locks, "ready", 3); }), errc::invalid_argument) << "an option of the client";
  EXPECT_EQ(code_of([&] { barrier(locks, "ready", 3); }), errc::invalid_argument);
  EXPECT_EQ(code_of([&] { latch(one(), "ready", 3, patient().grace(1s)); }), errc::invalid_argument);
  EXPECT_EQ(code_of([&] { barrier(one(), "ready", 3, patient().grace(1s)); }), errc::invalid_argument);
  latch ready{locks, "ready", 3, patient()};
  ready.count_down(3);
  EXPECT_TRUE(ready.try_wait());
}

TEST_P(latches, are_waited_for_with_limits) {
  latch ready{one(), "ready", 2, patient().label("shard 1")};
  ready.count_down();
  EXPECT_FALSE(ready.wait_for(0s));
  EXPECT_FALSE(ready.wait_for(30ms));
  EXPECT_FALSE(ready.wait_until(std::chrono::steady_clock::now() + 30ms));
  latch impatient{two(), "ready", 2, patient().wait_limit(30ms)};
  try {
    impatient.wait();
    FAIL() << "one is missing";
  } catch (const error& failed) {
    EXPECT_EQ(failed.code(), errc::timeout);
    EXPECT_THAT(failed.what(), HasSubstr("the latch 'ready' on "));
    EXPECT_THAT(failed.what(), HasSubstr("1 of 2 have arrived: "));
  }
  std::stop_source stop;
  auto waiting = std::async(std::launch::async, [&] { return ready.wait(stop.get_token()); });
  EXPECT_EQ(waiting.wait_for(10ms), std::future_status::timeout);
  stop.request_stop();
  EXPECT_FALSE(waiting.get());
  EXPECT_FALSE(ready.wait(stop.get_token()));
  ready.count_down();
  EXPECT_TRUE(ready.wait_for(60s));
  EXPECT_TRUE(ready.wait(std::stop_token{}));
}

TEST_P(latches, are_not_mixed_with_other_locks) {
  latch ready{one(), "ready", 3, patient()};
  ready.count_down();
  latch other{two(), "ready", 4, patient()};
  EXPECT_EQ(code_of([&] { other.count_down(); }), errc::wrong_type);
  EXPECT_EQ(code_of([&] { (void)other.try_wait(); }), errc::wrong_type);
  EXPECT_EQ(code_of([&] { (void)mutex(two(), "ready").try_lock(); }), errc::wrong_type);
  const auto permit = counting_semaphore{two(), "ready", 3}.try_acquire_permits(1);
  ASSERT_TRUE(permit);
  EXPECT_EQ(counted(), 1) << "a permit of a semaphore is no count";
}

TEST_P(latches, tell_the_loss_of_a_count_that_waits) {
  // ZooKeeper watches the nodes of a count from the first renewal on, after a third of the ttl.
  auto waiting = std::async(std::launch::async, [&locks = one()] {
    return code_of([&] { latch(locks, "ready", 3, patient().ttl(3s)).arrive_and_wait(); });
  });
  ASSERT_TRUE(
      look().sees([&] { return counted() == 1 || waiting.wait_for(0s) == std::future_status::ready; }));
  // The reply to the claim may come after the first time; then it counts anew.
  do {
    bystander().force_release("ready");
  } while (waiting.wait_for(100ms) != std::future_status::ready);
  EXPECT_EQ(waiting.get(), errc::lost);
}

TEST_P(latches, come_asynchronously) {
  latch ready{one(), "ready", 3, patient()};
  EXPECT_FALSE(ready.async_wait_for(20ms, asio::use_future).get());
  EXPECT_FALSE(ready.async_wait_until(std::chrono::steady_clock::now() + 20ms, asio::use_future).get());
  auto waiting = ready.async_wait(asio::use_future);
  ready.async_count_down(1, asio::use_future).get();
  EXPECT_EQ(counted(), 1);
  auto arriving = latch{two(), "ready", 3, patient()}.async_arrive_and_wait(1, asio::use_future);
  ASSERT_TRUE(sees_counted(2));
  EXPECT_EQ(waiting.wait_for(0s), std::future_status::timeout);
  ready.async_count_down(1, holdfast::with_diagnostics(asio::use_future)).get();
  waiting.get();
  arriving.get();
  EXPECT_TRUE(ready.async_wait_for(60s, asio::use_future).get());
  EXPECT_THROW(ready.async_count_down(1, holdfast::with_diagnostics(asio::use_future)).get(), error);
  EXPECT_THROW(ready.async_count_down(0, holdfast::with_diagnostics(asio::use_future)).get(), error);
  latch impatient{two(), "other", 2, patient().wait_limit(20ms)};
  EXPECT_THROW(impatient.async_wait(holdfast::with_diagnostics(asio::use_future)).get(), error);
  one().close();
  EXPECT_THROW(ready.async_wait(holdfast::with_diagnostics(asio::use_future)).get(), error);
}

TEST_P(latches, are_cancelled) {
  latch ready{one(), "ready", 2, patient()};
  asio::io_context loop;
  asio::cancellation_signal cancel;
  boost::system::error_code completion;
  ready.count_down();
  ready.async_wait(asio::bind_cancellation_slot(
      cancel.slot(), asio::bind_executor(loop, [&](boost::system::error_code code) { completion = code; })));
  cancel.emit(asio::cancellation_type::terminal);
  loop.run();
  EXPECT_EQ(completion, errc::cancelled);
  EXPECT_EQ(counted(2), 1);
  auto closing = ready.async_wait(asio::use_future);
  one().close();
  EXPECT_THROW(closing.get(), std::exception);
}

TEST_P(latches, are_waited_for_while_the_store_is_silent) {
  if (!kind_.breakable) GTEST_SKIP() << "this store does not stop";
  latch ready{one(), "ready", 2, patient()};
  ready.count_down();
  auto waiting =
      std::async(std::launch::async, [&locks = two()] { latch{locks, "ready", 2, patient()}.wait(); });
  EXPECT_FALSE((latch{two(), "ready", 2, patient()}.try_wait()));
  store_->stop_answering();
  auto counting = std::async(std::launch::async, [&] { ready.count_down(); });
  EXPECT_EQ(counting.wait_for(200ms), std::future_status::timeout);
  store_->answer_again();
  counting.get();
  waiting.get();
  EXPECT_EQ(counted(2), 2) << "once, however often it was asked for";
}

TEST_P(latches, keep_the_count_of_a_process_that_is_killed) {
  if (!kind_.across_processes) GTEST_SKIP() << "this store has one process";
  test::actor child;
  ASSERT_EQ(child.ask("open " + store_->url_of_brief_sessions()), "open");
  ASSERT_EQ(child.ask("count ready 2 ttl=120000"), "counted");
  child.kill();
  EXPECT_EQ(counted(2), 1);
  latch{one(), "ready", 2, patient()}.arrive_and_wait();
}

HOLDFAST_ON_EACH_STORE(latches, has_latches);

class stores_without_latches : public on_each_store {};

TEST_P(stores_without_latches, say_so) {
  latch ready{one(), "ready", 3};
  EXPECT_EQ(code_of([&] { ready.count_down(); }), errc::invalid_argument);
  EXPECT_EQ(code_of([&] { ready.wait(); }), errc::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)barrier(one(), "round", 3).arrive_and_wait(); }), errc::invalid_argument);
  EXPECT_EQ(ready.inspect().arrived, 0);
}

HOLDFAST_ON_EACH_STORE(stores_without_latches, has_no_latches);

}  // namespace
}  // namespace holdfast::contract
