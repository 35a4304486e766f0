// SPDX-License-Identifier: Apache-2.0
// Waiting, and giving up.

#include <stop_token>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>

#include "contract/contract.hpp"
#include "contract/sleeping_thread.hpp"
#include <holdfast/async.hpp>

namespace holdfast::contract {
namespace {

namespace asio = boost::asio;

class waiting : public in_both_flavours {};

TEST_P(waiting, one_that_gave_up_leaves_no_ticket) {
  auto held = by(one(), "stock").take(exclusive);
  EXPECT_FALSE(take_answered(by(two(), "stock"), exclusive.within(brief_wait)).held);
  EXPECT_TRUE(look().sees_waiters("stock", 0));
  auto next = by(two(), "stock").start(exclusive);
  ASSERT_TRUE(look().sees_waiters("stock", 1));
  EXPECT_FALSE(held.held.release());
  EXPECT_TRUE(get(next).held.held());
}

TEST_P(waiting, those_behind_one_that_gave_up_move_up) {
  const auto reader = by(one(), "stock").take(shared);
  auto writer = by(two(), "stock").start(exclusive.within(200ms));
  ASSERT_TRUE(look().sees([&] { return inspect("stock").waiters.size() == 1 || !is_pending(writer); }));
  auto behind = by(one(), "stock").start(shared);
  EXPECT_FALSE(get(writer).held);
  EXPECT_TRUE(get(behind).held.held()) << "the writer in front is gone, and readers hold";
  EXPECT_TRUE(reader.held.held());
}

/// Under ThreadSanitizer a client takes some ten times as long, and no claim waits any longer.
#if defined(__SANITIZE_THREAD__)
constexpr std::size_t slowness = 4;
#else
constexpr std::size_t slowness = 1;
#endif

TEST_P(waiting, hundreds_on_one_client_are_all_served) {
  // One thread each where waiting blocks; nothing at all where it does not.
  const std::size_t waiters = GetParam().way == flavour::async ? 300 / slowness : 100;
  auto held = by(one(), "stock").take(exclusive);
  contender& many = by(one(), "stock");
  std::vector<pending_outcome> queue;
  for (std::size_t each = 0; each < waiters; ++each) queue.push_back(many.start(exclusive));
  ASSERT_TRUE(look().sees_waiters("stock", waiters));

  const auto first_token = held.held.token();
  EXPECT_FALSE(held.held.release());
  std::vector<fencing_token> tokens;
  // The order of threads' arrivals is not known, so whoever has it is found, served and let go.
  while (!queue.empty()) {
    auto next = std::find_if(queue.begin(), queue.end(), [](auto& one) { return !is_pending(one); });
    if (next == queue.end()) {
      queue.front().wait_for(1ms);
      continue;
    }
    const auto got = get(*next);
    ASSERT_TRUE(got.held) << got.code.message();
    tokens.push_back(got.held.token());
    queue.erase(next);
  }
  ASSERT_EQ(tokens.size(), waiters);
  EXPECT_GT(tokens.front(), first_token);
  EXPECT_TRUE(std::is_sorted(tokens.begin(), tokens.end()));
  EXPECT_EQ(std::adjacent_find(tokens.begin(), tokens.end()), tokens.end()) << "a token was drawn twice";
}

HOLDFAST_IN_BOTH_FLAVOURS(waiting, any_store);

class stopping : public on_each_store {};

TEST_P(stopping, ends_the_wait_for_a_lost_hold_to_be_unlocked) {
  mutex lock{one(), "stock", lock_options{}.ttl(300ms).renewal(false)};
  insist([&] { lock.lock(); });
  ASSERT_TRUE(look().sees([&] { return !lock.held(); }));
  std::stop_source stop;
  {
    sleeping_thread waiting{[&, token = stop.get_token()] { EXPECT_FALSE(lock.lock(token)); }};
    EXPECT_TRUE(waiting.sleeps());
    stop.request_stop();
  }
  lock.unlock();
}

HOLDFAST_ON_EACH_STORE(stopping, any_store);

class cancelling : public on_each_store {
 protected:
  pending_outcome start(mutex& lock, asio::cancellation_slot slot = {}) {
    std::promise<outcome> promise;
    auto pending = promise.get_future();
    auto handler = [promise = std::move(promise)](boost::system::error_code code, lease held) mutable {
      promise.set_value({code, std::move(held)});
    };
    lock.async_acquire(
        asio::bind_cancellation_slot(slot, asio::bind_executor(loop_.get_executor(), std::move(handler))));
    return pending;
  }
  /// Where the handlers run, as Asio demands of whoever cancels.
  void emit(asio::cancellation_signal& cancel, asio::cancellation_type type) {
    asio::post(loop_, asio::use_future([&] { cancel.emit(type); })).get();
  }
};

TEST_P(cancelling, ends_a_wait_and_leaves_no_ticket) {
  mutex first{one(), "stock"};
  mutex second{two(), "stock"};
  auto held = first.acquire();
  asio::cancellation_signal cancel;
  auto waiting = start(second, cancel.slot());
  ASSERT_TRUE(look().sees_waiters("stock", 1));

  emit(cancel, asio::cancellation_type::terminal);
  const auto got = get(waiting);
  EXPECT_EQ(got.code, errc::cancelled);
  EXPECT_FALSE(got.held);
  EXPECT_TRUE(look().sees_waiters("stock", 0));
  EXPECT_FALSE(held.release());
  EXPECT_TRUE(second.try_acquire_for(60s));
}

TEST_P(cancelling, one_in_the_middle_leaves_the_others_in_their_order) {
  mutex first{one(), "stock"};
  mutex second{two(), "stock"};
  auto held = first.acquire();
  asio::cancellation_signal cancel;
  auto a = start(second);
  ASSERT_TRUE(look().sees_waiters("stock", 1));
  auto b = start(first, cancel.slot());
  ASSERT_TRUE(look().sees_waiters("stock", 2));
  auto c = start(second);
  ASSERT_TRUE(look().sees_waiters("stock", 3));

  emit(cancel, asio::cancellation_type::total);
  EXPECT_EQ(get(b).code, errc::cancelled);
  EXPECT_FALSE(held.release());
  auto got = get(a);
  ASSERT_TRUE(got.held);
  EXPECT_TRUE(is_pending(c));
  const auto earlier = got.held.token();
  EXPECT_FALSE(got.held.release());
  EXPECT_GT(get(c).held.token(), earlier);
}

// Whichever comes first, the name is either had or free; and the operation ends once.
TEST_P(cancelling, may_race_with_the_grant) {
  mutex first{one(), "stock"};
  mutex second{two(), "stock"};
  for (int turn = 0; turn < 50; ++turn) {
    auto held = first.acquire();
    asio::cancellation_signal cancel;
    auto waiting = start(second, cancel.slot());
    std::jthread releasing{[&] { EXPECT_FALSE(held.release()); }};
    emit(cancel, asio::cancellation_type::partial);
    const auto got = get(waiting);
    EXPECT_EQ(got.held.held(), !got.code) << got.code.message();
    EXPECT_TRUE(!got.code || got.code == errc::cancelled) << got.code.message();
  }
  EXPECT_TRUE(look().sees_holders("stock", 0));
}

HOLDFAST_ON_EACH_STORE(cancelling, any_store);

}  // namespace
}  // namespace holdfast::contract
