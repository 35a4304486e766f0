// SPDX-License-Identifier: Apache-2.0
// async_wait_lost: the wait for the loss of a lease.

#include <future>
#include <tuple>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/version.hpp>
#if BOOST_VERSION >= 108600
#include <boost/asio/cancel_after.hpp>
#endif
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include "contract/contract.hpp"
#include <holdfast/async.hpp>

namespace holdfast::contract {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

class waiting_for_a_loss : public on_each_store {
 protected:
  static error_code get(std::future<std::tuple<error_code>> ended) {
    if (ended.wait_for(30s) != std::future_status::ready) return error_code{make_error_code(errc::timeout)};
    return std::get<0>(ended.get());
  }
  static auto wait(const lease& held) { return async_wait_lost(held, asio::as_tuple(asio::use_future)); }
};

TEST_P(waiting_for_a_loss, ends_with_it) {
  mutex lock{one(), "stock", lock_options{}.ttl(300ms).renewal(false)};
  const auto held = insist([&] { return lock.acquire(); });
  EXPECT_FALSE(get(wait(held)));
  EXPECT_FALSE(held.held());
  EXPECT_FALSE(get(wait(held))) << "once more, of a lease that was lost before";
}

TEST_P(waiting_for_a_loss, ends_with_the_release_and_with_the_client) {
  mutex lock{one(), "stock"};
  auto held = lock.acquire();
  auto released = wait(held);
  EXPECT_FALSE(held.release());
  EXPECT_EQ(get(std::move(released)), errc::not_owner);

  held = lock.acquire();
  auto dropped = wait(held);
  held = lease{};
  EXPECT_EQ(get(std::move(dropped)), errc::not_owner);
  EXPECT_EQ(get(wait(held)), errc::not_owner);

  held = lock.acquire();
  auto given_back = wait(held);
  async_release(std::move(held), asio::use_future).get();
  EXPECT_EQ(get(std::move(given_back)), errc::not_owner);

  held = lock.acquire();
  auto closed = wait(held);
  one().close();
  EXPECT_EQ(get(std::move(closed)), errc::closed);
  EXPECT_EQ(get(wait(held)), errc::closed);
}

TEST_P(waiting_for_a_loss, may_be_cancelled) {
  const auto held = mutex{one(), "stock"}.acquire();
  asio::io_context loop;
  asio::cancellation_signal cancel;
  error_code completion;
  async_wait_lost(held,
                  asio::bind_cancellation_slot(
                      cancel.slot(), asio::bind_executor(loop, [&](error_code code) { completion = code; })));
  cancel.emit(asio::cancellation_type::terminal);
  loop.run();
  EXPECT_EQ(completion, errc::cancelled);
  EXPECT_TRUE(held.held());
}

asio::awaitable<void> work_for_ever() {
  asio::steady_timer never{co_await asio::this_coro::executor};
  never.expires_at(std::chrono::steady_clock::time_point::max());
  co_await never.async_wait(asio::use_awaitable);
}

asio::awaitable<std::size_t> work_while_held(mutex& lock) {
  using asio::experimental::awaitable_operators::operator||;
  lease held = co_await lock.async_acquire();
  auto either = work_for_ever() || async_wait_lost(held, asio::use_awaitable);
  const auto first = co_await std::move(either);
  co_return first.index();
}

TEST_P(waiting_for_a_loss, ends_a_coroutine_with_its_lease) {
  mutex lock{one(), "stock", lock_options{}.ttl(2s).renewal(false)};
  EXPECT_EQ(asio::co_spawn(loop_, work_while_held(lock), asio::use_future).get(), 1U) << "the loss";
}

HOLDFAST_ON_EACH_STORE(waiting_for_a_loss, any_store);

}  // namespace
}  // namespace holdfast::contract
