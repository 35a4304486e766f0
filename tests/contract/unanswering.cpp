// SPDX-License-Identifier: Apache-2.0
// A store that stops answering, for a while or for good.

#include <future>
#include <memory>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>

#include "contract/contract.hpp"
#include <holdfast/async.hpp>

namespace holdfast::contract {
namespace {

namespace asio = boost::asio;

class unanswering : public in_both_flavours {
 protected:
  void TearDown() override {
    if (broken_) mend();
    in_both_flavours::TearDown();
  }
  void stop() {
    store_->stop_answering();
    broken_ = true;
  }
  void mend() {
    store_->answer_again();
    broken_ = false;
  }
  /// Whatever waits for the store then waits as long as the store is silent, and the test hangs.
  static lock_options unlimited() { return lock_options{}.ttl(1h).retry(retry_policy{}.limit(1h)); }
  static retry_policy brief() { return retry_policy{}.limit(200ms).longest(50ms); }

 private:
  bool broken_ = false;
};

TEST_P(unanswering, loss_is_told_at_the_deadline_all_the_same) {
  auto got = by(one(), "stock", lock_options{}.ttl(400ms)).take(exclusive);
  const auto loss = std::make_shared<std::promise<std::error_code>>();
  got.held.on_lost([loss](std::error_code reason) { loss->set_value(reason); });
  stop();
  auto reason = loss->get_future();
  ASSERT_EQ(reason.wait_for(60s), std::future_status::ready);
  EXPECT_EQ(reason.get(), errc::lost);
  EXPECT_FALSE(got.held.held());
  EXPECT_EQ(got.held.remaining(), 0s);
}

TEST_P(unanswering, an_acquisition_fails_within_its_retry_limit) {
  contender& lock = by(one(), "stock", lock_options{}.retry(brief()));
  EXPECT_FALSE(one().inspect("stock"));  // it is connected
  ASSERT_TRUE(look().sees_holders("stock", 0));
  stop();
  for (const auto& request : {exclusive, exclusive.at_once(), shared, exclusive.within(60s)}) {
    const auto got = lock.take(request);
    EXPECT_TRUE(got.code == errc::unavailable || got.code == errc::unknown_outcome) << got.code.message();
    EXPECT_FALSE(got.held);
  }
  mend();
  EXPECT_TRUE(by(one(), "stock").take(exclusive).held.held());
}

TEST_P(unanswering, a_pause_shorter_than_the_deadline_costs_no_lease) {
  within_a_ttl(5s, [&](duration ttl) {
    auto got = by(one(), "stock", lock_options{}.ttl(ttl)).take(exclusive);
    EXPECT_TRUE(by(two(), "other").take(exclusive).held);
    contender& other = by(two(), "other", lock_options{}.retry(brief()));
    const auto deadline = got.held.deadline();
    stop();
    EXPECT_TRUE(other.take(exclusive).code);  // a retry limit has passed, so a renewal may have failed
    mend();
    auto answer = got.held.renew();
    while (answer == renewal::unknown)
      answer = got.held.renew();  // it has been left, and is connected to anew
    if (answer == renewal::lost && got.held.loss() == loss_reason::not_renewed) return false;
    EXPECT_EQ(answer, renewal::renewed);
    EXPECT_GT(got.held.deadline(), deadline);
    return true;
  });
}

TEST_P(unanswering, an_unlock_is_not_lost) {
  mutex lock{one(), "stock", unlimited()};
  lock.lock();
  auto waiting = by(two(), "stock").start(exclusive);
  ASSERT_TRUE(look().sees_waiters("stock", 1));
  stop();
  lock.unlock();  // comes back before the store does
  EXPECT_TRUE(is_pending(waiting));
  mend();
  EXPECT_TRUE(get(waiting).held.held());
}

TEST_P(unanswering, a_release_that_the_store_never_hears_has_an_unknown_outcome) {
  auto got = by(one(), "stock", lock_options{}.ttl(400ms)).take(exclusive);
  stop();
  const auto code = by(one(), "stock").release(std::move(got.held));
  EXPECT_TRUE(code == errc::unknown_outcome || code == errc::lost) << code.message();
}

TEST_P(unanswering, a_renewal_by_hand_comes_back_with_the_deadline) {
  auto got = by(one(), "stock", unlimited().ttl(1s)).take(exclusive);
  stop();
  auto answer = got.held.renew();                                // comes back before the store does
  while (answer == renewal::unknown) answer = got.held.renew();  // the store says that it does not answer
  EXPECT_EQ(answer, renewal::lost);
  EXPECT_EQ(got.held.remaining(), 0s);
}

TEST_P(unanswering, closing_takes_no_longer_than_the_flush_limit) {
  client& hasty = open(client_options{}.flush_limit(200ms));
  auto got = by(hasty, "stock", unlimited()).take(exclusive);
  ASSERT_TRUE(got.held);
  stop();
  hasty.close();  // comes back before the store does
  EXPECT_FALSE(got.held.held());
  mend();
  bystander().force_release("stock");  // the store may never hear of the end
}

HOLDFAST_IN_BOTH_FLAVOURS(unanswering, breakable);

class unanswered_release : public on_each_store {};

TEST_P(unanswered_release, is_no_longer_waited_for_when_it_is_cancelled) {
  mutex lock{one(), "stock"};
  auto held = lock.acquire();
  store_->stop_answering();
  // The handler shares them: it may be called as late as by the end of the client.
  struct operation {
    asio::cancellation_signal cancel;
    std::promise<std::error_code> end;
  };
  const auto releasing = std::make_shared<operation>();
  auto ended = releasing->end.get_future();
  auto handler = [releasing](boost::system::error_code code) { releasing->end.set_value(code); };
  async_release(std::move(held),
                asio::bind_cancellation_slot(releasing->cancel.slot(),
                                             asio::bind_executor(loop_.get_executor(), std::move(handler))));
  asio::post(loop_, asio::use_future([&] { releasing->cancel.emit(asio::cancellation_type::terminal); }))
      .get();
  const bool came = ended.wait_for(30s) == std::future_status::ready;
  store_->answer_again();
  ASSERT_TRUE(came) << "the handler was not called before the store answered";
  EXPECT_EQ(ended.get(), errc::cancelled);
  EXPECT_TRUE(mutex(two(), "stock").try_acquire_for(60s)) << "the release was given up";
}

HOLDFAST_ON_EACH_STORE(unanswered_release, breakable);

// A limit that ends before the store is given up: nobody knows whether others hold the name, which is free.
class unanswered_limits : public on_each_store {
 protected:
  static constexpr auto limit = 300ms;

  template <class Call>
  static std::error_code end_of(Call call) {
    try {
      return call() ? std::error_code{} : make_error_code(std::errc::resource_unavailable_try_again);
    } catch (const std::system_error& failed) {
      return failed.code();
    } catch (const boost::system::system_error& failed) {  // of a future
      return failed.code();
    }
  }
  template <class Call>
  static void expect_error(const char* verb, Call call) {
    const std::error_code code = end_of(call);
    EXPECT_TRUE(code == errc::unavailable || code == errc::unknown_outcome) << verb << ": " << code.message();
  }
  void expect_errors(client& locks) {
    const lock_options options;
    const auto limited = lock_options{}.wait_limit(limit);
    mutex plain{locks, "a", options};
    expect_error("try_lock_for", [&] { return plain.try_lock_for(limit); });
    expect_error("try_acquire_for", [&] { return plain.try_acquire_for(limit).has_value(); });
    expect_error("async_try_acquire_for",
                 [&] { return plain.async_try_acquire_for(limit, asio::use_future).get().held(); });
    mutex patient{locks, "b", limited};
    expect_error("lock", [&] { return patient.lock(), true; });
    expect_error("async_acquire", [&] { return patient.async_acquire(asio::use_future).get().held(); });
    expect_error("recursive", [&] { return recursive_mutex(locks, "c").try_lock_for(limit); });
    shared_mutex readers{locks, "d", options};
    expect_error("try_lock_shared_for", [&] { return readers.try_lock_shared_for(limit); });
    if (kind_.has_permits) {
      expect_error("semaphore", [&] { return counting_semaphore(locks, "e", 3).try_acquire_for(limit); });
    }
    lock_set several{locks, {"f", "g"}, limited};
    expect_error("set", [&] { return several.try_lock_for(limit); });
    expect_error("set with a wait limit", [&] { return several.acquire().held(); });
    expect_error("async set",
                 [&] { return several.async_try_acquire_for(limit, asio::use_future).get().held(); });
    election scheduler{locks, "h", limited};
    expect_error("try_campaign_for", [&] { return scheduler.try_campaign_for("value", limit).has_value(); });
    expect_error("campaign", [&] { return scheduler.campaign("value").held(); });
  }
};

TEST_P(unanswered_limits, are_errors_of_a_client_that_just_worked) {
  client& worked = one();
  ASSERT_TRUE(mutex(worked, "a").try_acquire_for(60s));
  store_->stop_answering();
  expect_errors(worked);
  store_->answer_again();
}

TEST_P(unanswered_limits, are_errors_of_a_client_that_has_never_connected) {
  store_->stop_answering();
  expect_errors(open());
  store_->answer_again();
}

HOLDFAST_ON_EACH_STORE(unanswered_limits, breakable);

}  // namespace
}  // namespace holdfast::contract
