// SPDX-License-Identifier: Apache-2.0
// lock_set: several names of one client, all or none.

#include <algorithm>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include "contract/contract.hpp"
#include <holdfast/async.hpp>

namespace holdfast::contract {
namespace {

namespace asio = boost::asio;
using testing::AllOf;
using testing::HasSubstr;

class lock_sets : public on_each_store {
 protected:
  using pending_set = std::future<std::optional<lease_set>>;

  /// Waits on a thread of its own, until it has them all or the test is about to end.
  pending_set start(client& locks, std::vector<lock_spec> names, const lock_options& options = {}) {
    return std::async(std::launch::async, [&locks, names = std::move(names), options] {
      return lock_set{locks, names, options}.try_acquire_for(100s);
    });
  }
  /// A set that waits for "b", which another holds, and holds "a" meanwhile, and not "c". On a store whose
  /// tries stand in a queue for a moment, less may be seen before.
  bool sees_it_wait() {
    return look().sees([&] {
      const auto b = inspect("b");
      return inspect("a").holders.size() == 1 && b.holders.size() == 1 && b.waiters.size() == 1 &&
             inspect("c").holders.empty();
    });
  }
  void expect_all_free(const std::vector<std::string>& names) {
    for (const auto& name : names) EXPECT_TRUE(look().sees_holders(name, 0)) << name;
  }
};

TEST_P(lock_sets, are_held_together_and_released_together) {
  lock_set all{one(), {"c", "a", "b"}};
  auto held = all.acquire();
  ASSERT_TRUE(held);
  EXPECT_TRUE(held.held());
  ASSERT_EQ(held.leases().size(), 3U);
  EXPECT_EQ(held.leases()[0].name(), "c") << "they are in the order of the user";
  EXPECT_EQ(held.leases()[1].name(), "a");
  auto earliest = boot_clock::time_point::max();
  for (const lease& each : held.leases()) {
    EXPECT_TRUE(each.held());
    EXPECT_GT(each.token(), fencing_token{});
    EXPECT_EQ(held.token(each.name()), each.token());
    earliest = std::min(earliest, each.deadline());
    EXPECT_FALSE(mutex(two(), each.name()).try_lock());
  }
  EXPECT_LE(held.deadline(), earliest);
  EXPECT_GT(held.remaining(), 0s);
  EXPECT_FALSE(held.lost().stop_requested());
  EXPECT_EQ(held.lost_lease(), nullptr);
  EXPECT_FALSE(held.release());
  EXPECT_FALSE(held);
  EXPECT_EQ(held.release(), errc::not_owner);
  for (const char* name : {"a", "b", "c"}) EXPECT_TRUE(mutex(two(), name).try_lock()) << name;
}

TEST_P(lock_sets, have_nothing_where_one_is_not_free) {
  const auto other = mutex{two(), "b"}.acquire();
  lock_set all{one(), {"a", "b", "c"}};
  EXPECT_FALSE(all.try_acquire());
  EXPECT_FALSE(all.try_lock());
  EXPECT_FALSE(answered([&] { return all.try_acquire_for(brief_wait); }));
  EXPECT_FALSE(all.held());
  expect_all_free({"a", "c"});
  EXPECT_TRUE(look().sees_waiters("b", 0));
}

TEST_P(lock_sets, wait_with_what_comes_before_and_without_what_comes_after) {
  auto other = mutex{two(), "b"}.acquire();
  auto waiting = start(one(), {"c", "b", "a"});
  EXPECT_TRUE(sees_it_wait());
  EXPECT_EQ(waiting.wait_for(0s), std::future_status::timeout);
  EXPECT_FALSE(other.release());
  const auto held = waiting.get();
  ASSERT_TRUE(held);
  EXPECT_TRUE(held->held());
}

TEST_P(lock_sets, acquire_anew_what_is_lost_while_they_wait) {
  auto other = mutex{two(), "b"}.acquire();
  // On ZooKeeper a hold is watched from its first renewal on, after a third of the ttl.
  auto waiting = start(one(), {"a", "b", "c"}, lock_options{}.ttl(3s).retry(retry_policy{}.limit(50s)));
  ASSERT_TRUE(sees_it_wait());
  const auto token_of_a = [&] {
    const auto a = inspect("a");
    return a.holders.empty() ? fencing_token{} : a.holders[0].token;
  };
  const auto before = token_of_a();
  // Where the machine stood still for the ttl, it is lost already.
  EXPECT_TRUE(bystander().force_release("a", before) || token_of_a() != before);
  EXPECT_TRUE(look().sees([&] {
    const auto a = inspect("a");
    return a.holders.size() == 1 && a.holders[0].token > before && inspect("b").waiters.size() == 1;
  }));
  EXPECT_FALSE(other.release());
  const auto held = waiting.get();
  ASSERT_TRUE(held);
  EXPECT_TRUE(held->held());
  EXPECT_GT(held->token("a"), before);
}

TEST_P(lock_sets, give_back_what_they_hold_when_they_are_stopped) {
  const auto other = mutex{two(), "b"}.acquire();
  lock_set all{one(), {"a", "b", "c"}};
  std::stop_source stop;
  auto waiting = std::async(std::launch::async, [&] { return all.lock(stop.get_token()); });
  EXPECT_TRUE(sees_it_wait());
  stop.request_stop();
  EXPECT_FALSE(waiting.get());
  expect_all_free({"a", "c"});
  EXPECT_TRUE(look().sees_waiters("b", 0));
  EXPECT_FALSE(all.acquire(stop.get_token()));
}

TEST_P(lock_sets, end_their_wait_when_the_client_is_closed) {
  const auto other = mutex{two(), "b"}.acquire();
  client& locks = open();
  auto waiting = std::async(std::launch::async, [&] {
    return failure_of([&] { return lock_set{locks, {"a", "b"}}.acquire(); }).code;
  });
  EXPECT_TRUE(sees_it_wait());
  locks.close();
  EXPECT_EQ(waiting.get(), errc::closed);
  expect_all_free({"a"});
}

TEST_P(lock_sets, mix_modes) {
  lock_set reader{one(), {lock_spec::shared("book"), "desk one"}};
  lock_set another{two(), {"desk two", lock_spec::shared("book")}};
  const auto first = reader.acquire();
  const auto second = another.acquire();
  EXPECT_TRUE(first.held());
  EXPECT_TRUE(second.held());
  EXPECT_EQ(first.leases()[0].mode(), mode::shared);
  EXPECT_EQ(first.leases()[1].mode(), mode::exclusive);
  EXPECT_FALSE(lock_set(bystander(), {"book", "desk three"}).try_acquire());
  EXPECT_TRUE(look().sees_holders("desk three", 0));
}

TEST_P(lock_sets, take_permits) {
  HOLDFAST_NEEDS_PERMITS();
  lock_set two_seats{one(), {lock_spec::permits("seats", 3, 2), "door"}};
  const auto held = two_seats.acquire();
  EXPECT_EQ(held.leases()[0].permits(), 2);
  EXPECT_FALSE(counting_semaphore(two(), "seats", 3).try_acquire_permits(2));
  EXPECT_TRUE(counting_semaphore(two(), "seats", 3).try_acquire_permits(1));
  // What fails is named, and nothing of the others is kept.
  const auto failed = failure_of([&] { return lock_set{two(), {"anteroom", "seats"}}.try_acquire(); });
  EXPECT_EQ(failed.code, errc::wrong_type) << failed.text;
  EXPECT_THAT(failed.text, AllOf(HasSubstr("'anteroom' and 'seats'"), HasSubstr(": 'seats': ")));
  expect_all_free({"anteroom"});
}

TEST_P(lock_sets, are_lost_with_the_first_that_is) {
  lock_set all{one(), {"a", "b"}};
  auto held = all.acquire();
  EXPECT_EQ(held.renew(), renewal::renewed);  // on ZooKeeper a hold is watched from its first renewal on
  EXPECT_TRUE(bystander().force_release("b", held.token("b")));
  EXPECT_TRUE(look().sees([&] { return held.lost().stop_requested(); }));
  EXPECT_FALSE(held.held());
  EXPECT_EQ(held.remaining(), 0s);
  ASSERT_NE(held.lost_lease(), nullptr);
  EXPECT_EQ(held.lost_lease()->name(), "b");
  EXPECT_EQ(held.lost_lease()->loss(), loss_reason::ended_at_store);
  EXPECT_TRUE(held.leases()[0].held()) << "the others stay, for the work to be ended in order";
  EXPECT_FALSE(mutex(two(), "a").try_lock());
  EXPECT_EQ(held.release(), errc::lost);
  EXPECT_TRUE(mutex(two(), "a").try_lock());
}

TEST_P(lock_sets, tell_their_loss_once) {
  auto held = lock_set{one(), {"a", "b"}}.acquire();
  std::promise<void> loss;
  int times = 0;
  const std::stop_callback on_loss{held.lost(), [&] {
                                     ++times;
                                     loss.set_value();
                                   }};
  one().close();
  ASSERT_EQ(loss.get_future().wait_for(30s), std::future_status::ready);
  EXPECT_TRUE(look().sees([&] { return !held.leases()[0].held() && !held.leases()[1].held(); }));
  EXPECT_EQ(times, 1);
}

// What a user may do in a stop callback: end everything that belongs to the set, the callback itself too.
TEST_P(lock_sets, may_be_destroyed_by_who_hears_of_their_loss) {
  struct job {
    lease_set held;
    std::optional<std::stop_callback<std::function<void()>>> first{};
    std::optional<std::stop_callback<std::function<void()>>> last{};
  };
  auto work = std::make_unique<job>(lock_set{one(), {"a", "b"}}.acquire());
  std::promise<void> loss;
  work->first.emplace(work->held.lost(), [] {});
  work->last.emplace(work->held.lost(), [&] {
    auto& heard = loss;
    work.reset();
    heard.set_value();
  });
  one().close();
  EXPECT_EQ(loss.get_future().wait_for(30s), std::future_status::ready);
}

TEST_P(lock_sets, wait_for_a_store_that_does_not_answer_yet) {
  if (!kind_.breakable) GTEST_SKIP() << "this store does not stop";
  lock_set all{one(), {"a", "b"}, lock_options{}.retry(retry_policy{}.limit(60s))};
  all.lock();
  all.unlock();
  store_->stop_answering();
  auto waiting = std::async(std::launch::async, [&] { return all.acquire(); });
  EXPECT_EQ(waiting.wait_for(300ms), std::future_status::timeout);
  store_->answer_again();
  EXPECT_TRUE(waiting.get().held());
}

TEST_P(lock_sets, are_renewed) {
  lock_set all{one(), {"a", "b"}, lock_options{}.ttl(6s)};
  auto held = all.acquire();
  const auto first = held.deadline();
  EXPECT_EQ(held.renew(), renewal::renewed);
  EXPECT_TRUE(look().sees([&] { return held.deadline() > first + 1s; })) << "by the keeper";
  EXPECT_TRUE(held.held());
}

TEST_P(lock_sets, keep_their_holds_as_a_mutex_does) {
  lock_set all{one(), {"a", "b"}};
  EXPECT_THROW((void)all.lost(), error);
  EXPECT_THROW((void)all.token("a"), error);
  {
    const std::scoped_lock guard{all};
    EXPECT_TRUE(all.held());
    EXPECT_GT(all.token("b"), fencing_token{});
    EXPECT_THROW((void)all.token("c"), error);
    EXPECT_FALSE(all.lost().stop_requested());
    EXPECT_FALSE(all.try_lock()) << "the object holds them already";
    EXPECT_FALSE(all.try_lock_for(20ms));
    EXPECT_FALSE(answered([&] {
      return lock_set(two(), {"b", "a"}).try_lock_until(std::chrono::steady_clock::now() + brief_wait);
    }));
  }
  EXPECT_FALSE(all.held());
  EXPECT_TRUE(lock_set(two(), {"b", "a"}).try_lock_for(60s));
  all.unlock();  // of nothing
  EXPECT_EQ(all.names().size(), 2U);
}

TEST_P(lock_sets, that_were_lost_are_to_be_unlocked_before_they_are_locked_again) {
  lock_set all{one(), {"a", "b"}, lock_options{}.ttl(2s).renewal(false)};
  all.lock();
  ASSERT_TRUE(look().sees([&] { return !all.held(); }));
  EXPECT_EQ(failure_of([&] { all.lock(); }).code, errc::lost) << "it would wait for ever";
  all.unlock();
  EXPECT_TRUE(all.try_lock_for(60s));
  all.unlock();
}

TEST_P(lock_sets, wait_no_longer_than_the_options_say) {
  const auto other = mutex{two(), "b"}.acquire();
  lock_set all{one(), {"a", "b"}, lock_options{}.wait_limit(brief_wait)};
  const auto failed = failure_of([&] { answered([&] { all.lock(); }); });
  EXPECT_EQ(failed.code, errc::timeout) << failed.text;
  EXPECT_THAT(failed.text, HasSubstr("cannot lock 'a' and 'b' on "));
  expect_all_free({"a"});
}

TEST_P(lock_sets, refuse_names_that_make_no_set) {
  const auto code_of = [&](std::vector<lock_spec> names) {
    return failure_of([&] { return lock_set{one(), std::move(names)}; }).code;
  };
  EXPECT_EQ(code_of({}), errc::invalid_argument);
  EXPECT_EQ(code_of({"a", "b", "a"}), errc::invalid_argument);
  EXPECT_EQ(code_of({"a", lock_spec::shared("a")}), errc::invalid_argument);
  EXPECT_EQ(code_of({"a", ""}), errc::invalid_name);
  EXPECT_EQ(code_of({lock_spec::permits("seats", 2, 3)}), errc::invalid_argument);
  std::vector<lock_spec> many;
  for (int each = 0; each < 257; ++each) many.emplace_back("name " + std::to_string(each));
  EXPECT_EQ(code_of(many), errc::invalid_argument);
  many.pop_back();
  EXPECT_FALSE(code_of(many));
}

TEST_P(lock_sets, of_hundreds_of_names_are_held) {
  std::vector<lock_spec> many;
  for (int each = 0; each < 256; ++each) many.emplace_back("name " + std::to_string(each));
  auto held = lock_set{one(), many}.acquire();
  EXPECT_TRUE(held.held());
  EXPECT_FALSE(mutex(two(), "name 77").try_lock());
  EXPECT_FALSE(held.release());
  EXPECT_TRUE(mutex(two(), "name 77").try_lock());
}

TEST_P(lock_sets, come_asynchronously) {
  lock_set all{one(), {"a", "b"}};
  auto held = all.async_acquire(asio::use_future).get();
  EXPECT_TRUE(held.held());
  lock_set others{two(), {"b", "a"}};
  EXPECT_FALSE(others.async_try_acquire(asio::use_future).get());
  EXPECT_FALSE(answered([&] { return others.async_try_acquire_for(brief_wait, asio::use_future).get(); }));
  auto waiting = others.async_acquire(asio::use_future);
  EXPECT_FALSE(held.release());
  EXPECT_TRUE(waiting.get().held());
  // The object may go while its operation waits.
  auto first = mutex{one(), "c"}.acquire();
  auto late = lock_set{two(), {"c", "d"}}.async_acquire(holdfast::with_diagnostics(asio::use_future));
  EXPECT_FALSE(first.release());
  EXPECT_TRUE(late.get().held());
  one().close();
  EXPECT_THROW(all.async_acquire(holdfast::with_diagnostics(asio::use_future)).get(), error);
}

TEST_P(lock_sets, are_cancelled) {
  const auto other = mutex{two(), "b"}.acquire();
  lock_set all{one(), {"a", "b"}};
  asio::io_context loop;
  asio::cancellation_signal cancel;
  boost::system::error_code completion;
  all.async_acquire(asio::bind_cancellation_slot(
      cancel.slot(), asio::bind_executor(loop, [&](boost::system::error_code code, lease_set held) {
        completion = code;
        EXPECT_FALSE(held);
      })));
  EXPECT_TRUE(sees_it_wait());
  cancel.emit(asio::cancellation_type::terminal);
  loop.run();
  EXPECT_EQ(completion, errc::cancelled);
  expect_all_free({"a"});
  EXPECT_TRUE(look().sees_waiters("b", 0));
}

HOLDFAST_ON_EACH_STORE(lock_sets, any_store);

}  // namespace
}  // namespace holdfast::contract
