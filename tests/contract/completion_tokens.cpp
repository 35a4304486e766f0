// SPDX-License-Identifier: Apache-2.0
// <holdfast/async.hpp> with the completion tokens of Boost.Asio: who calls the handler, where, how often.

#include <atomic>
#include <memory_resource>
#include <optional>
#include <thread>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/version.hpp>
#if BOOST_VERSION >= 108600
#include <boost/asio/cancel_after.hpp>
#endif
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include "contract/contract.hpp"
#include <holdfast/async.hpp>

namespace holdfast::contract {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

class completion_tokens : public on_each_store {};

TEST_P(completion_tokens, use_future) {
  mutex lock{one(), "stock"};
  auto held = lock.async_acquire(asio::use_future).get();
  EXPECT_TRUE(held.held());
  EXPECT_FALSE(lock.async_try_acquire(asio::use_future).get()) << "refused, without an exception";
  async_release(std::move(held), asio::use_future).get();
  EXPECT_TRUE(lock.async_try_acquire_for(60s, asio::use_future).get());
}

TEST_P(completion_tokens, deferred_does_nothing_until_it_is_started) {
  mutex lock{one(), "stock"};
  auto operation = lock.async_acquire(asio::deferred);
  EXPECT_FALSE(one().inspect("stock"));
  EXPECT_TRUE(std::move(operation)(asio::use_future).get().held());
}

TEST_P(completion_tokens, detached_gives_back_what_nobody_takes) {
  mutex lock{one(), "stock"};
  lock.async_acquire(asio::detached);
  EXPECT_TRUE(look().sees([&] { return inspect("stock").last_token && inspect("stock").holders.empty(); }));
}

asio::awaitable<void> visit_all_types(client& locks, std::vector<fencing_token>& tokens) {
  mutex first{locks, "mutex"};
  shared_mutex second{locks, "shared_mutex"};
  recursive_mutex third{locks, "recursive_mutex"};
  counting_semaphore fourth{locks, "counting_semaphore", 3};
  auto a = co_await first.async_acquire(asio::use_awaitable);
  auto b = co_await second.async_acquire(asio::use_awaitable);
  auto c = co_await third.async_acquire(asio::use_awaitable);
  auto d = co_await fourth.async_acquire_permits(2, asio::use_awaitable);
  tokens = {a.token(), b.token(), c.token(), d.token()};
  b = co_await async_downgrade(std::move(b), asio::use_awaitable);
  auto e = co_await second.async_try_acquire_shared(asio::use_awaitable);
  auto f = co_await second.async_acquire_shared(asio::use_awaitable);
  tokens.push_back(e.token());
  tokens.push_back(f.token());
  co_await async_release(std::move(a), asio::use_awaitable);
  auto g = co_await first.async_try_acquire(asio::use_awaitable);
  tokens.push_back(g.token());
}

TEST_P(completion_tokens, use_awaitable) {
  HOLDFAST_NEEDS_PERMITS();
  asio::io_context loop;
  std::vector<fencing_token> tokens;
  auto done = asio::co_spawn(loop, visit_all_types(one(), tokens), asio::use_future);
  loop.run();
  done.get();
  EXPECT_THAT(tokens, testing::SizeIs(7));
  EXPECT_THAT(tokens, testing::Each(testing::Truly([](fencing_token token) { return bool{token}; })));
  EXPECT_TRUE(look().sees([&] { return bystander().list().empty(); }));
}

asio::awaitable<error_code> code_thrown_for(mutex& lock) {
  try {
    auto held = co_await lock.async_acquire(asio::use_awaitable);
  } catch (const boost::system::system_error& failed) {
    co_return failed.code();
  }
  co_return error_code{};
}

TEST_P(completion_tokens, throw_codes_that_compare_with_ours) {
  mutex lock{one(), "stock"};
  mutex other{two(), "stock", lock_options{}.wait_limit(brief_wait)};
  const auto held = lock.acquire();
  auto code = asio::co_spawn(loop_, code_thrown_for(other), asio::use_future).get();
  while (test::is_unanswered(code)) {  // see `answered`
    code = asio::co_spawn(loop_, code_thrown_for(other), asio::use_future).get();
  }
  EXPECT_EQ(code, errc::timeout);
  EXPECT_NE(code, errc::lost);
  EXPECT_EQ(std::error_code{code}, errc::timeout) << "the standard's code is the same";
  EXPECT_EQ(code.message(), make_error_code(errc::timeout).message());
}

asio::awaitable<std::size_t> first_of_lock_and_timer(mutex& lock) {
  using asio::experimental::awaitable_operators::operator||;
  asio::steady_timer timer{co_await asio::this_coro::executor, 30ms};
  auto either = lock.async_acquire(asio::use_awaitable) || timer.async_wait(asio::use_awaitable);
  const auto first = co_await std::move(either);
  co_return first.index();
}

TEST_P(completion_tokens, are_cancelled_by_the_operators_of_awaitables) {
  mutex lock{one(), "stock"};
  mutex other{two(), "stock"};
  const auto held = lock.acquire();
  auto first = asio::co_spawn(loop_, first_of_lock_and_timer(other), asio::use_future);
  EXPECT_EQ(first.get(), 1U) << "the timer";
  EXPECT_TRUE(look().sees_waiters("stock", 0));
}

TEST_P(completion_tokens, call_the_handler_on_its_executor_once_and_never_from_within) {
  mutex lock{one(), "stock"};
  asio::io_context loop;
  std::vector<lease> answers;
  bool inside = true;
  for (int each = 0; each < 3; ++each) {
    lock.async_try_acquire(asio::bind_executor(loop, [&](error_code code, lease held) {
      EXPECT_FALSE(inside);
      EXPECT_FALSE(code);
      EXPECT_TRUE(loop.get_executor().running_in_this_thread());
      answers.push_back(std::move(held));
    }));
  }
  inside = false;
  loop.run();  // counted as work: does not return before the handlers were called
  EXPECT_THAT(answers, testing::SizeIs(3));
  EXPECT_EQ(std::count_if(answers.begin(), answers.end(), [](auto& held) { return held.held(); }), 1);
}

TEST_P(completion_tokens, keep_to_a_strand) {
  HOLDFAST_NEEDS_PERMITS();
  counting_semaphore seats{one(), "seats", 100};
  asio::thread_pool pool{4};
  const auto strand = asio::make_strand(pool);
  int unguarded = 0;
  for (int each = 0; each < 100; ++each) {
    seats.async_acquire_permits(1, asio::bind_executor(strand, [&](error_code code, lease held) {
                                  EXPECT_FALSE(code);
                                  EXPECT_TRUE(held.held());
                                  ++unguarded;
                                }));
  }
  pool.join();
  EXPECT_EQ(unguarded, 100);
}

// Whoever has run a context until it was out of work may destroy it.
TEST_P(completion_tokens, leave_nothing_of_a_handler_behind_once_its_context_is_out_of_work) {
  HOLDFAST_NEEDS_PERMITS();
  struct handler {
    explicit handler(std::shared_ptr<int> of) : calls{std::move(of)} {}
    handler(const handler&) = default;  // and no move: whatever it was in still has it
    void operator()(error_code code, const lease& held) const {
      EXPECT_FALSE(code);
      EXPECT_TRUE(held.held());
      ++*calls;
    }
    std::shared_ptr<int> calls;
  };
  counting_semaphore seats{one(), "seats", 100};
  const auto calls = std::make_shared<int>();
  asio::io_context loop;
  for (int each = 0; each < 100; ++each) {
    seats.async_acquire_permits(1, asio::bind_executor(asio::make_strand(loop), handler{calls}));
  }
  loop.run();
  EXPECT_EQ(calls.use_count(), 1);
  EXPECT_EQ(*calls, 100);
}

/// A resource that counts, for allocators that point at it.
class counted_memory final : public std::pmr::memory_resource {
 public:
  [[nodiscard]] int allocations() const { return allocations_; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    ++allocations_;
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
    std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }

  std::atomic<int> allocations_{0};
};

TEST_P(completion_tokens, post_with_the_allocator_of_the_handler) {
  mutex lock{one(), "stock"};
  asio::io_context loop;
  counted_memory memory;
  bool called = false;
  lock.async_acquire(
      asio::bind_executor(loop, asio::bind_allocator(std::pmr::polymorphic_allocator<std::byte>{&memory},
                                                     [&](error_code code, lease) { called = !code; })));
  loop.run();
  EXPECT_TRUE(called);
  EXPECT_GT(memory.allocations(), 0);
}

TEST_P(completion_tokens, cancel_by_every_type_of_cancellation) {
  mutex lock{one(), "stock"};
  mutex other{two(), "stock"};
  const auto held = lock.acquire();
  using asio::cancellation_type;
  for (const auto type :
       {cancellation_type::terminal, cancellation_type::partial, cancellation_type::total}) {
    asio::io_context loop;
    asio::cancellation_signal cancel;
    error_code completion;
    other.async_acquire(asio::bind_cancellation_slot(
        cancel.slot(), asio::bind_executor(loop, [&](error_code code, lease) { completion = code; })));
    cancel.emit(cancellation_type::none);
    cancel.emit(type);
    cancel.emit(type);  // again: no effect
    loop.run();
    EXPECT_EQ(completion, errc::cancelled);
    cancel.emit(type);  // after the end: no effect
  }
  EXPECT_TRUE(held.held());
  EXPECT_TRUE(look().sees_waiters("stock", 0));
}

TEST_P(completion_tokens, report_wrong_arguments_through_the_handler) {
  counting_semaphore seats{one(), "seats", 3};
  asio::io_context loop;
  error_code completion;
  seats.async_try_acquire_permits(
      4, asio::bind_executor(loop, [&](error_code code, lease) { completion = code; }));
  EXPECT_FALSE(completion);
  loop.run();
  EXPECT_EQ(completion, errc::invalid_argument);
}

TEST_P(completion_tokens, outlive_the_lock_object) {
  mutex first{one(), "stock"};
  auto held = first.acquire();
  auto second = std::make_unique<mutex>(two(), "stock");
  auto waiting = second->async_acquire(asio::use_future);
  ASSERT_TRUE(look().sees_waiters("stock", 1));
  second.reset();
  EXPECT_FALSE(held.release());
  EXPECT_TRUE(waiting.get().held());
}

asio::awaitable<std::string> failure_of_the_default_token(counting_semaphore& seats) {
  try {
    auto held = co_await seats.async_acquire_permits(4);
  } catch (const error& failed) {
    co_return failed.what();
  }
  co_return std::string{};
}

asio::awaitable<bool> visit_with_default_tokens(client& locks) {
  mutex first{locks, "mutex"};
  shared_mutex second{locks, "shared_mutex"};
  auto a = co_await first.async_acquire();
  auto b = co_await second.async_try_acquire_for(60s);
  b = co_await async_downgrade(std::move(b));
  auto c = co_await second.async_try_acquire_shared();
  auto d = co_await first.async_try_acquire();
  const bool good = a.held() && b.held() && c.held() && !d;
  co_await async_release(std::move(a));
  co_return good;
}

TEST_P(completion_tokens, need_not_be_named_in_a_coroutine) {
  EXPECT_TRUE(asio::co_spawn(loop_, visit_with_default_tokens(one()), asio::use_future).get());
}

TEST_P(completion_tokens, with_diagnostics_say_as_much_as_the_blocking_form) {
  counting_semaphore seats{one(), "seats", 3};
  std::string blocking;
  try {
    static_cast<void>(seats.acquire_permits(4));
  } catch (const error& failed) {
    blocking = failed.what();
  }
  EXPECT_THAT(blocking, testing::HasSubstr("seats"));
  EXPECT_EQ(asio::co_spawn(loop_, failure_of_the_default_token(seats), asio::use_future).get(), blocking);

  const auto held = mutex{two(), "stock"}.acquire();
  EXPECT_TRUE(one().inspect("stock"));  // it is connected
  mutex lock{one(), "stock", lock_options{}.wait_limit(brief_wait)};
  try {
    answered([&] { lock.lock(); });
  } catch (const error& failed) {
    blocking = failed.what();
  }
  EXPECT_THAT(blocking, testing::AllOf(testing::HasSubstr("stock"), testing::HasSubstr(one().url())));
  try {
    answered([&] { return lock.async_acquire(with_diagnostics(asio::use_future)).get(); });
    ADD_FAILURE();
  } catch (const error& failed) {
    EXPECT_EQ(failed.what(), blocking);
    EXPECT_EQ(failed.code(), errc::timeout);
  }
  try {
    async_release(lease{}, with_diagnostics(asio::use_future)).get();
    ADD_FAILURE();
  } catch (const error& failed) {
    EXPECT_EQ(failed.code(), errc::not_owner);
  }
}

#if BOOST_VERSION >= 108600
TEST_P(completion_tokens, may_cancel_after_a_time) {
  mutex lock{one(), "stock"};
  mutex other{two(), "stock"};
  const auto held = lock.acquire();
  // The handlers of the timer and of the operation must not run at the same time, as those of use_future may.
  const auto future = asio::bind_executor(asio::make_strand(loop_), asio::use_future);
  auto waiting = other.async_acquire(asio::cancel_after(50ms, asio::as_tuple(future)));
  const auto [code, none] = waiting.get();
  EXPECT_EQ(code, errc::cancelled);
  EXPECT_EQ(std::error_code{code}, std::errc::operation_canceled);
  EXPECT_FALSE(none);
  auto diagnosed = other.async_acquire(with_diagnostics(asio::cancel_after(50ms, future)));
  EXPECT_THROW(diagnosed.get(), error);
  // Handlers without an executor run one after the other with their timers, though on any thread.
  constexpr int many = 50;
  std::atomic<int> cancelled = 0;
  std::promise<void> all;
  for (int each = 0; each < many; ++each) {
    other.async_acquire(asio::cancel_after(50ms, [&](error_code ended, const lease&) {
      EXPECT_EQ(ended, errc::cancelled);
      if (++cancelled == many) all.set_value();
    }));
  }
  EXPECT_EQ(all.get_future().wait_for(30s), std::future_status::ready) << cancelled << " were called";
  EXPECT_TRUE(look().sees_waiters("stock", 0));
  auto lost = async_wait_lost(held, asio::cancel_after(50ms, asio::as_tuple(future)));
  EXPECT_EQ(std::get<0>(lost.get()), errc::cancelled);
}
#endif

HOLDFAST_ON_EACH_STORE(completion_tokens, any_store);

}  // namespace
}  // namespace holdfast::contract
