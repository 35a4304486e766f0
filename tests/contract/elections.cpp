// SPDX-License-Identifier: Apache-2.0
// election: at most one leads, all see it and its value.

#include <algorithm>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <unistd.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include "contract/contract.hpp"
#include "support/event_log.hpp"
#include <holdfast/async.hpp>

namespace holdfast::contract {
namespace {

namespace asio = boost::asio;
using testing::HasSubstr;

class elections : public on_each_store {
 protected:
  using pending_term = std::future<std::optional<term>>;

  pending_term start(client& locks, std::string value, std::stop_token stop = {}) {
    return std::async(std::launch::async, [&locks, value = std::move(value), stop = std::move(stop)] {
      return election{locks, "boss"}.try_campaign_for(value, 100s, stop);
    });
  }
  bool sees_standbys(std::size_t count) { return look().sees_waiters("boss", count); }
  std::optional<candidate> leader() { return election{bystander(), "boss"}.leader(); }
};

TEST_P(elections, have_a_leader_with_a_value) {
  election boss{one(), "boss", lock_options{}.label("night shift")};
  EXPECT_FALSE(leader());
  EXPECT_TRUE(boss.participants().empty());
  auto held = boss.campaign("10.0.0.7:8080");
  ASSERT_TRUE(held);
  EXPECT_TRUE(held.held());
  EXPECT_EQ(held.name(), "boss");
  EXPECT_EQ(held.value(), "10.0.0.7:8080");
  EXPECT_GT(held.token(), fencing_token{});
  EXPECT_GT(held.remaining(), 0s);
  EXPECT_FALSE(held.lost().stop_requested());
  EXPECT_FALSE(held.loss());

  const auto seen = leader();
  ASSERT_TRUE(seen);
  EXPECT_TRUE(seen->leads);
  EXPECT_EQ(seen->value, "10.0.0.7:8080");
  EXPECT_EQ(seen->token, held.token());
  EXPECT_EQ(seen->process.pid, ::getpid());
  EXPECT_EQ(seen->process.label, "night shift");
  EXPECT_FALSE(seen->process.host.empty());
  EXPECT_LT(seen->age, 60s);
  EXPECT_GT(seen->expires_in, 0s);

  EXPECT_FALSE(held.resign());
  EXPECT_FALSE(held);
  EXPECT_EQ(held.resign(), errc::not_owner);
  EXPECT_FALSE(leader());
}

TEST_P(elections, elect_those_who_stand_by_in_their_order) {
  auto first = election{one(), "boss"}.campaign("first");
  // Of one client: on Redlock the order among clients is as exact as their estimates of the servers' clocks.
  auto second = start(two(), "second");
  ASSERT_TRUE(sees_standbys(1));
  auto third = start(two(), "third");
  ASSERT_TRUE(sees_standbys(2));
  const auto all = election{bystander(), "boss"}.participants();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_TRUE(all[0].leads && !all[1].leads && !all[2].leads);
  EXPECT_EQ(all[0].value, "first");
  EXPECT_EQ(all[1].value, "second");
  EXPECT_EQ(all[2].value, "third");
  EXPECT_EQ(all[1].process.pid, ::getpid());

  EXPECT_FALSE(first.resign());
  auto next = second.get();
  ASSERT_TRUE(next);
  EXPECT_EQ(leader()->value, "second");
  const auto token = next->token();
  next.reset();  // resigns, too
  const auto last = third.get();
  ASSERT_TRUE(last);
  EXPECT_GT(last->token(), token);
  EXPECT_TRUE(last->held());
}

TEST_P(elections, are_tried_without_standing_by) {
  const auto held = election{one(), "boss"}.try_campaign("first");
  ASSERT_TRUE(held);
  election boss{two(), "boss"};
  EXPECT_FALSE(boss.try_campaign("second"));
  EXPECT_FALSE(answered([&] { return boss.try_campaign_for("second", brief_wait); }));
  EXPECT_FALSE(answered(
      [&] { return boss.try_campaign_until("second", std::chrono::steady_clock::now() + brief_wait); }));
  EXPECT_TRUE(sees_standbys(0));
  std::stop_source stop;
  auto waiting = start(two(), "third", stop.get_token());
  ASSERT_TRUE(sees_standbys(1));
  stop.request_stop();
  EXPECT_FALSE(waiting.get());
  EXPECT_TRUE(sees_standbys(0));
  EXPECT_FALSE(boss.campaign("fourth", stop.get_token()));
  election impatient{two(), "boss", lock_options{}.wait_limit(brief_wait)};
  const auto failed = failure_of([&] { return answered([&] { return impatient.campaign("fifth"); }); });
  EXPECT_EQ(failed.code, errc::timeout);
  EXPECT_THAT(failed.text, HasSubstr("cannot lead 'boss' on "));
}

TEST_P(elections, carry_any_bytes_as_a_value) {
  std::string every_byte;
  for (int each = 0; each < 256; ++each) every_byte += static_cast<char>(each);
  for (const std::string& value :
       {std::string{}, every_byte, std::string{"a\nholdfast 1 0 0 5 7\n{}"},
        std::string{"holdfast 1 0 0 5 7\n{}"}, std::string{"\xE2\x82\xAC 5 \"quoted\" \\ '; --"},
        std::string(election::longest_value, '\xFF')}) {
    const auto held = election{one(), "boss"}.campaign(value);
    const auto seen = leader();
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->value, value);
    EXPECT_EQ(seen->process.pid, ::getpid());
    EXPECT_EQ(seen->token, held.token());
  }
  const std::string too_long(election::longest_value + 1, 'x');
  const auto failed = failure_of([&] { return election{one(), "boss"}.try_campaign(too_long); });
  EXPECT_EQ(failed.code, errc::invalid_argument);
  EXPECT_THROW(election(one(), ""), error);
}

// They exclude an election, and lead nobody.
TEST_P(elections, do_not_count_mutexes_readers_and_permits_as_leaders) {
  {
    const auto held = mutex{one(), "boss"}.acquire();
    EXPECT_FALSE(leader());
    EXPECT_FALSE(election(two(), "boss").try_campaign("second"));
    EXPECT_TRUE(election(two(), "boss").participants().empty());
  }
  ASSERT_TRUE(look().sees_holders("boss", 0));
  {
    const auto held = shared_mutex{one(), "boss"}.acquire_shared();
    EXPECT_FALSE(leader());
  }
  if (kind_.has_permits) {
    const auto held = counting_semaphore{one(), "seats", 2}.acquire_permits(1);
    EXPECT_FALSE(election(two(), "seats").leader());
  }
  ASSERT_TRUE(look().sees_holders("boss", 0));
  const auto held = election{one(), "boss"}.campaign("first");
  EXPECT_FALSE(mutex(two(), "boss").try_lock());
}

TEST_P(elections, end_a_term_that_is_lost) {
  auto held = election{one(), "boss"}.campaign("first");
  EXPECT_EQ(held.renew(), renewal::renewed);  // on ZooKeeper a hold is watched from its first renewal on
  const auto loss = std::make_shared<std::promise<std::error_code>>();
  held.on_lost([loss](std::error_code reason) { loss->set_value(reason); });
  EXPECT_TRUE(bystander().force_release("boss", held.token()));
  auto announced = loss->get_future();
  ASSERT_EQ(announced.wait_for(60s), std::future_status::ready);
  EXPECT_EQ(announced.get(), errc::lost);
  EXPECT_FALSE(held.held());
  EXPECT_TRUE(held.lost().stop_requested());
  EXPECT_EQ(held.loss(), loss_reason::ended_at_store);
  EXPECT_EQ(held.resign(), errc::lost);
}

// The leader steps down before another can begin: by its own clock, since the store does not answer.
TEST_P(elections, end_a_term_at_its_deadline_while_the_store_is_silent) {
  if (!kind_.breakable) GTEST_SKIP() << "this store does not stop";
  auto held = insist([&] { return election{one(), "boss", lock_options{}.ttl(1s)}.campaign("first"); });
  std::promise<boot_clock::time_point> loss;
  const std::stop_callback on_loss{held.lost(), [&] { loss.set_value(boot_clock::now()); }};
  store_->stop_answering();
  auto lost_at = loss.get_future();
  EXPECT_EQ(lost_at.wait_for(60s), std::future_status::ready);
  EXPECT_FALSE(held.held());
  store_->answer_again();
  // Whatever was sent in between, the next term comes after it.
  const auto next = election{two(), "boss"}.try_campaign_for("second", 60s);
  ASSERT_TRUE(next);
  EXPECT_GT(next->token(), held.token());
}

TEST_P(elections, keep_standing_by_while_the_store_is_silent) {
  if (!kind_.breakable) GTEST_SKIP() << "this store does not stop";
  auto held = election{one(), "boss"}.campaign("first");
  test::event_log log;
  client& candidates = open(client_options{}.observer(log.observer()));
  const auto options = lock_options{}.ttl(3s).retry(retry_policy{}.limit(200ms));
  auto waiting = std::async(std::launch::async, [&] {
    while (true) {
      try {
        return election{candidates, "boss", options}.campaign("second");
      } catch (const error&) {
        // Before it has its place, a busy machine may have no answer in time, either.
        if (log.has(event_kind::queued)) throw;
      }
    }
  });
  ASSERT_TRUE(log.await(event_kind::queued));
  store_->stop_answering();
  // Claims that have no place to stand by are given up one after the other: the limit has passed by then.
  for (int each = 0; each < 2; ++each)
    EXPECT_THROW((void)mutex(candidates, "other", options).acquire(), error);
  EXPECT_EQ(waiting.wait_for(0s), std::future_status::timeout) << "it had the store's answer once";
  store_->answer_again();
  EXPECT_FALSE(held.resign());
  EXPECT_TRUE(waiting.get().held());
}

TEST_P(elections, come_asynchronously) {
  election boss{one(), "boss"};
  EXPECT_FALSE(boss.async_leader(asio::use_future).get());
  auto held = boss.async_campaign("first", asio::use_future).get();
  EXPECT_TRUE(held.held());
  EXPECT_EQ(held.value(), "first");
  const auto seen = boss.async_leader(holdfast::with_diagnostics(asio::use_future)).get();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->value, "first");
  EXPECT_EQ(seen->token, held.token());
  election other{two(), "boss"};
  EXPECT_FALSE(other.async_try_campaign("second", asio::use_future).get());
  EXPECT_FALSE(
      answered([&] { return other.async_try_campaign_for("second", brief_wait, asio::use_future).get(); }));
  EXPECT_FALSE(answered([&] {
    const auto end = std::chrono::steady_clock::now() + brief_wait;
    return other.async_try_campaign_until("second", end, asio::use_future).get();
  }));
  ASSERT_TRUE(sees_standbys(0)) << "those that gave up are withdrawn in the background";
  auto waiting = other.async_campaign("second", asio::use_future);
  ASSERT_TRUE(sees_standbys(1));
  EXPECT_EQ(boss.async_participants(asio::use_future).get().size(), 2U);
  auto lost = holdfast::async_wait_lost(held, asio::use_future);
  holdfast::async_resign(std::move(held), asio::use_future).get();
  EXPECT_THROW(lost.get(), std::exception);
  EXPECT_TRUE(waiting.get().held());
  EXPECT_THROW(other.async_campaign(std::string(5000, 'x'), asio::use_future).get(), std::exception);
  one().close();
  EXPECT_THROW(boss.async_campaign("third", holdfast::with_diagnostics(asio::use_future)).get(), error);
  EXPECT_THROW(boss.async_leader(holdfast::with_diagnostics(asio::use_future)).get(), error);
}

TEST_P(elections, are_cancelled) {
  const auto leading = election{one(), "boss"}.campaign("first");
  election boss{two(), "boss"};
  asio::io_context loop;
  asio::cancellation_signal cancel;
  boost::system::error_code completion;
  boss.async_campaign(
      "second", asio::bind_cancellation_slot(
                    cancel.slot(), asio::bind_executor(loop, [&](boost::system::error_code code, term held) {
                      completion = code;
                      EXPECT_FALSE(held);
                    })));
  ASSERT_TRUE(sees_standbys(1));
  cancel.emit(asio::cancellation_type::terminal);
  loop.run();
  EXPECT_EQ(completion, errc::cancelled);
  EXPECT_TRUE(sees_standbys(0));
}

HOLDFAST_ON_EACH_STORE(elections, any_store);

}  // namespace
}  // namespace holdfast::contract
