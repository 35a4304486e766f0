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
  auto got = by(one(), "stock", lock_options{}.ttl(10s)).take(exclusive);
  ASSERT_TRUE(by(two(), "other").take(exclusive).held);
  contender& other = by(two(), "other", lock_options{}.retry(brief()));
  const auto deadline = got.held.deadline();
  stop();
  EXPECT_TRUE(other.take(exclusive).code);  // a retry limit has passed, so a renewal may have failed
  mend();
  auto answer = got.held.renew();
  while (answer == renewal::unknown) answer = got.held.renew();  // it has been left, and is connected to anew
  EXPECT_EQ(answer, renewal::renewed);
  EXPECT_GT(got.held.deadline(), deadline);
  EXPECT_TRUE(got.held.held());
}

TEST_P(unanswering, an_unlock_is_not_lost) {
  mutex lock{one(), "stock"};
  lock.lock();
  auto waiting = by(two(), "stock").start(exclusive);
  ASSERT_TRUE(look().sees_waiters("stock", 1));
  stop();
  const auto before = boot_clock::now();
  lock.unlock();
  EXPECT_LT(boot_clock::now() - before, 5s) << "unlock waited for the store";
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
  const auto is_in_time = [&] {
    auto got = by(one(), "stock", lock_options{}.ttl(1s)).take(exclusive);
    stop();
    auto answer = got.held.renew();
    while (answer == renewal::unknown) answer = got.held.renew();  // the store says that it does not answer
    const bool in_time = boot_clock::now() < got.held.deadline() + 3s;
    EXPECT_EQ(answer, renewal::lost);
    mend();
    return in_time;
  };
  // The machine may stand still during one attempt. A client that waits for the store is late in all of them.
  EXPECT_TRUE(is_in_time() || is_in_time() || is_in_time()) << "it waited for the store";
}

TEST_P(unanswering, closing_takes_no_longer_than_the_flush_limit) {
  client& hasty = open(client_options{}.flush_limit(200ms));
  auto got = by(hasty, "stock", lock_options{}.ttl(1s)).take(exclusive);
  ASSERT_TRUE(got.held);
  stop();
  const auto before = boot_clock::now();
  hasty.close();
  EXPECT_LT(boot_clock::now() - before, 8s) << "waited for more than 200 ms and a loaded machine";
  EXPECT_FALSE(got.held.held());
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

}  // namespace
}  // namespace holdfast::contract
