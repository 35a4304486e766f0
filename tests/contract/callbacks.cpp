// SPDX-License-Identifier: Apache-2.0
// User code that takes its time in a callback: what it holds up, and what it does not.

#include <atomic>
#include <future>
#include <memory>
#include <stop_token>
#include <thread>

#include <boost/asio/use_future.hpp>

#include "contract/contract.hpp"
#include <holdfast/async.hpp>

namespace holdfast::contract {
namespace {

namespace asio = boost::asio;

constexpr auto hang = 30s;

/// A callback that does not return before the test lets it. It may return after the test has.
class blocking_callback {
 public:
  ~blocking_callback() { end(); }
  void operator()() {
    const std::shared_ptr<state> own = state_;
    if (own->begun_once.exchange(true)) return;
    own->begun.set_value();
    own->end.wait();
  }
  void await_end() const { state_->end.wait(); }
  [[nodiscard]] bool begins() {
    return state_->begun.get_future().wait_for(hang) == std::future_status::ready;
  }
  void end() {
    if (!state_->ended_once.exchange(true)) state_->ended.set_value();
  }

 private:
  struct state {
    std::promise<void> begun;
    std::promise<void> ended;
    const std::shared_future<void> end = ended.get_future().share();
    std::atomic<bool> begun_once{false};
    std::atomic<bool> ended_once{false};
  };

  const std::shared_ptr<state> state_ = std::make_shared<state>();
};

/// Waits for a stop token that was taken before the loss.
class signal_of {
 public:
  explicit signal_of(const lease& held)
      : fired_{held.lost(), [this] { promise_.set_value(boot_clock::now()); }} {}
  [[nodiscard]] bool fires() { return future_.wait_for(hang) == std::future_status::ready; }

 private:
  std::promise<boot_clock::time_point> promise_;
  std::future<boot_clock::time_point> future_ = promise_.get_future();
  std::stop_callback<std::function<void()>> fired_;
};

class callbacks : public on_each_store {
 protected:
  lease brief(std::string_view name, duration ttl = 400ms) {
    return insist([&] { return mutex{one(), name, lock_options{}.ttl(ttl).renewal(false)}.acquire(); });
  }
};

TEST_P(callbacks, on_lost_delays_no_signal_of_another_lease) {
  within_a_ttl(1s, [&](duration ttl) {
    auto first = brief("first");
    auto second = brief("second", ttl);
    const auto token = second.lost();
    signal_of loss{second};
    blocking_callback slow;
    // On a thread of its own, which the callback blocks where the lease is lost by then.
    std::jthread registration{[&] { first.on_lost([&](std::error_code) { slow(); }); }};
    EXPECT_TRUE(slow.begins());
    const bool is_lost_later = !token.stop_requested();
    EXPECT_TRUE(loss.fires());
    EXPECT_TRUE(token.stop_requested());
    slow.end();
    return is_lost_later;
  });
}

// A token that was taken before may be late; the lease itself reads the clock.
TEST_P(callbacks, of_a_stop_token_delay_no_deadline_and_no_request) {
  auto kept = mutex{one(), "kept"}.acquire();
  const auto first = brief("first");
  const auto second = brief("second");
  signal_of loss{second};
  blocking_callback slow;
  std::jthread registration{[&] {  // of its own, which the callback blocks if the lease is lost by then
    const std::stop_callback registered{first.lost(), [&] { slow(); }};
    slow.await_end();
  }};
  EXPECT_TRUE(slow.begins());
  EXPECT_TRUE(look().sees([&] { return !second.held(); }));
  EXPECT_TRUE(second.lost().stop_requested());
  EXPECT_EQ(kept.renew(), renewal::renewed);
  EXPECT_TRUE(mutex(one(), "other").try_lock());
  slow.end();
  EXPECT_TRUE(loss.fires());
}

TEST_P(callbacks, of_a_stop_token_may_wait_for_the_store) {
  mutex other{one(), "other"};
  const auto held = brief("stock");
  std::promise<bool> done;
  const std::stop_callback on_loss{held.lost(), [&] { done.set_value(!other.acquire().release()); }};
  auto result = done.get_future();
  ASSERT_EQ(result.wait_for(hang), std::future_status::ready);
  EXPECT_TRUE(result.get());
}

TEST_P(callbacks, of_a_watch_delay_no_signal) {
  blocking_callback slow;
  const auto watch = one().watch([&] { slow(); });
  EXPECT_TRUE(slow.begins());  // and on: the end of the watch waits for the callback, which has to end first
  const auto held = brief("stock");
  signal_of loss{held};
  EXPECT_TRUE(loss.fires());
  slow.end();
}

TEST_P(callbacks, of_on_lost_run_after_the_signal_of_their_lease) {
  auto held = brief("stock");
  const auto token = held.lost();
  std::promise<bool> lost;
  held.on_lost([&](std::error_code) { lost.set_value(token.stop_requested()); });
  EXPECT_TRUE(lost.get_future().get());
}

TEST_P(callbacks, delay_no_completion) {
  auto held = brief("stock");
  mutex other{one(), "other"};
  std::promise<bool> done;
  held.on_lost([&](std::error_code) {
    auto granted = other.async_acquire(asio::use_future);
    done.set_value(granted.wait_for(hang) == std::future_status::ready && granted.get().held());
  });
  EXPECT_TRUE(done.get_future().get());
}

TEST_P(callbacks, may_be_taken_back) {
  auto held = mutex{one(), "stock"}.acquire();
  std::atomic<int> calls = 0;
  std::promise<void> last;
  const auto first = held.on_lost([&](std::error_code) { ++calls; });
  const auto second = held.on_lost([&](std::error_code) { last.set_value(); });
  EXPECT_NE(first, second);
  EXPECT_TRUE(held.remove_on_lost(first));
  EXPECT_FALSE(held.remove_on_lost(first));
  EXPECT_EQ(bystander().force_release("stock"), 1U);
  // The leader of an ensemble may answer its own clients from before what another server has carried out.
  EXPECT_TRUE(look().sees([&] { return held.renew() == renewal::lost; }));
  EXPECT_EQ(last.get_future().wait_for(hang), std::future_status::ready);
  EXPECT_EQ(calls, 0);
  EXPECT_FALSE(held.remove_on_lost(second));
}

HOLDFAST_ON_EACH_STORE(callbacks, any_store);

}  // namespace
}  // namespace holdfast::contract
