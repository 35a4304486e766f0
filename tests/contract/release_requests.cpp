// SPDX-License-Identifier: Apache-2.0
// Requests to release: who is asked, what the holder hears, and that nothing else changes.

#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unistd.h>

#include <boost/asio/use_future.hpp>

#include "contract/contract.hpp"
#include <holdfast/async.hpp>

namespace holdfast::contract {
namespace {

namespace asio = boost::asio;

class release_requests : public on_each_store {
 protected:
  /// Held, and renewed once: on ZooKeeper a hold is watched from its first renewal on.
  lease hold_exclusively(client& locks, std::string_view name = "stock") {
    auto held = mutex{locks, name}.acquire();
    EXPECT_EQ(held.renew(), renewal::renewed);
    return held;
  }
  lease hold_shared(client& locks) {
    auto held = shared_mutex{locks, "stock"}.acquire_shared();
    EXPECT_EQ(held.renew(), renewal::renewed);
    return held;
  }
  template <class Held>
  bool hears(const Held& held) {
    return look().sees([&] { return held.release_requested().stop_requested(); });
  }
  std::optional<std::string> request_shown(std::string_view name = "stock") {
    const auto state = inspect(name);
    return state.holders.empty() ? std::nullopt : state.holders.front().claimant.release_request;
  }
};

TEST_P(release_requests, reach_the_holder_with_their_reason_and_change_nothing) {
  auto held = hold_exclusively(one());
  const auto requested = held.release_requested();
  EXPECT_FALSE(requested.stop_requested());
  EXPECT_FALSE(held.release_request());
  EXPECT_FALSE(request_shown());
  std::promise<void> called;
  const std::stop_callback callback{requested, [&] { called.set_value(); }};

  EXPECT_EQ(two().request_release("stock", R"(a "backup" \ of Łódź)"), 1U);
  EXPECT_EQ(called.get_future().wait_for(100s), std::future_status::ready);
  EXPECT_TRUE(requested.stop_requested());
  EXPECT_EQ(held.release_request(), R"(a "backup" \ of Łódź)");
  EXPECT_TRUE(held.held());
  EXPECT_FALSE(held.lost().stop_requested());
  EXPECT_TRUE(look().sees([&] { return request_shown() == R"(a "backup" \ of Łódź)"; }));
  EXPECT_EQ(inspect("stock").holders.front().claimant.pid, ::getpid());

  // A holder hears the first reason; the store shows the last one.
  EXPECT_EQ(two().request_release("stock", "again"), 1U);
  EXPECT_TRUE(look().sees([&] { return request_shown() == "again"; }));
  EXPECT_EQ(held.release_request(), R"(a "backup" \ of Łódź)");
  EXPECT_EQ(held.renew(), renewal::renewed);
  EXPECT_FALSE(held.release());
  EXPECT_FALSE(held.release_request());
}

TEST_P(release_requests, find_nobody_where_nobody_holds) {
  EXPECT_EQ(one().request_release("stock"), 0U);
  EXPECT_FALSE(one().request_release("stock", fencing_token{7}, "why"));
  EXPECT_TRUE(one().list().empty());
  auto held = hold_exclusively(one());
  const auto token = held.token();
  EXPECT_FALSE(held.release());
  EXPECT_EQ(two().request_release("stock"), 0U);
  EXPECT_FALSE(two().request_release("stock", token));
}

TEST_P(release_requests, come_without_a_reason_too) {
  auto held = hold_exclusively(one());
  EXPECT_EQ(one().request_release("stock"), 1U);
  EXPECT_TRUE(hears(held));
  EXPECT_EQ(held.release_request(), "");
  EXPECT_EQ(request_shown(), "");
}

TEST_P(release_requests, are_refused_with_a_reason_that_is_no_short_text) {
  const auto code_of = [this](const std::string& reason) {
    return failure_of([&] { return one().request_release("stock", reason); }).code;
  };
  EXPECT_EQ(code_of("two\nlines"), errc::invalid_argument);
  EXPECT_EQ(code_of("\xFF"), errc::invalid_argument);
  EXPECT_EQ(code_of(std::string(client::longest_reason + 1, 'x')), errc::invalid_argument);
  EXPECT_EQ(code_of(std::string(client::longest_reason, '"')), std::error_code{});
  EXPECT_THROW(static_cast<void>(one().request_release("stock", fencing_token{}, "")), error);
  EXPECT_THROW(static_cast<void>(one().request_release("", "")), error);
}

TEST_P(release_requests, keep_the_longest_reason) {
  auto held = hold_exclusively(one());
  const std::string quotes(client::longest_reason, '"');
  EXPECT_EQ(two().request_release("stock", quotes), 1U);
  EXPECT_TRUE(hears(held));
  EXPECT_EQ(held.release_request(), quotes);
}

TEST_P(release_requests, go_to_all_readers_or_to_one) {
  auto first = hold_shared(one());
  auto second = hold_shared(two());
  EXPECT_TRUE(bystander().request_release("stock", second.token(), "you"));
  EXPECT_TRUE(hears(second));
  EXPECT_EQ(second.release_request(), "you");
  EXPECT_FALSE(first.release_requested().stop_requested());
  EXPECT_EQ(bystander().request_release("stock", "all"), 2U);
  EXPECT_TRUE(hears(first));
  EXPECT_EQ(first.release_request(), "all");
  EXPECT_EQ(first.renew(), renewal::renewed);
  EXPECT_EQ(second.renew(), renewal::renewed);
  EXPECT_FALSE(first.release());
  EXPECT_FALSE(second.release());
  // Nothing of them is left in the way of a writer.
  EXPECT_TRUE(shared_mutex(one(), "stock").try_acquire());
}

TEST_P(release_requests, reach_a_writer_that_became_a_reader) {
  auto held = shared_mutex{one(), "stock"}.acquire();
  held.downgrade();
  EXPECT_EQ(held.renew(), renewal::renewed);
  EXPECT_TRUE(two().request_release("stock", held.token(), "please"));
  EXPECT_TRUE(hears(held));
  EXPECT_EQ(held.renew(), renewal::renewed);
  EXPECT_EQ(inspect("stock").holders.front().token, held.token());
}

TEST_P(release_requests, reach_the_holder_of_permits) {
  HOLDFAST_NEEDS_PERMITS();
  auto held = counting_semaphore{one(), "stock", 3}.acquire_permits(2);
  EXPECT_EQ(held.renew(), renewal::renewed);
  auto other = counting_semaphore{two(), "stock", 3}.acquire_permits(1);
  EXPECT_TRUE(two().request_release("stock", held.token(), "please"));
  EXPECT_TRUE(hears(held));
  EXPECT_EQ(held.release_request(), "please");
  EXPECT_FALSE(other.release_requested().stop_requested());
}

TEST_P(release_requests, are_not_for_those_who_wait) {
  auto held = hold_exclusively(one());
  auto next = std::async(std::launch::async, [&locks = two()] { return mutex{locks, "stock"}.acquire(); });
  ASSERT_TRUE(look().sees_waiters("stock", 1));
  EXPECT_EQ(bystander().request_release("stock", "make room"), 1U);
  EXPECT_TRUE(hears(held));
  EXPECT_FALSE(held.release());
  auto second = next.get();
  EXPECT_FALSE(second.release_requested().stop_requested());
  EXPECT_FALSE(request_shown());
  EXPECT_EQ(second.renew(), renewal::renewed);
  EXPECT_EQ(bystander().request_release("stock", "you, too"), 1U);
  EXPECT_TRUE(hears(second));
  EXPECT_EQ(second.release_request(), "you, too");
}

TEST_P(release_requests, reach_a_leader_and_leave_its_value) {
  election boss{one(), "boss"};
  auto held = boss.campaign("10.0.0.7:8080");
  EXPECT_EQ(held.renew(), renewal::renewed);
  EXPECT_EQ(two().request_release("boss", "deployment"), 1U);
  EXPECT_TRUE(hears(held));
  EXPECT_EQ(held.release_request(), "deployment");
  EXPECT_TRUE(held.held());
  const auto seen = election{two(), "boss"}.leader();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->value, "10.0.0.7:8080");
  EXPECT_EQ(seen->token, held.token());
  held.proclaim("10.0.0.7:8081");
  EXPECT_EQ((election{two(), "boss"}.leader()->value), "10.0.0.7:8081");
  EXPECT_EQ(request_shown("boss"), "deployment");
}

// Curator's word for a request, which on ZooKeeper stands at the beginning of the leader's data here.
TEST_P(release_requests, are_not_in_the_value_of_a_leader) {
  auto held = election{one(), "boss"}.campaign("__REVOKE__");
  EXPECT_EQ(held.renew(), renewal::renewed);
  EXPECT_EQ(held.renew(), renewal::renewed);
  EXPECT_FALSE(held.release_requested().stop_requested());
  EXPECT_EQ(two().request_release("boss", "deployment"), 1U);
  EXPECT_TRUE(hears(held));
  EXPECT_EQ(held.release_request(), "deployment");
}

TEST_P(release_requests, for_one_name_reach_the_set) {
  lock_set both{one(), {"account/1", "account/2"}};
  auto held = both.acquire();
  EXPECT_EQ(held.renew(), renewal::renewed);
  EXPECT_FALSE(held.release_requested().stop_requested());
  EXPECT_EQ(two().request_release("account/2", "audit"), 1U);
  EXPECT_TRUE(hears(held));
  EXPECT_EQ(held.release_request(), "audit");
  EXPECT_FALSE(held.leases()[0].release_request());
  EXPECT_TRUE(held.held());
}

TEST_P(release_requests, reach_the_hold_that_a_lock_object_keeps) {
  // On ZooKeeper a hold is watched from its first renewal on, after a third of the ttl.
  within_a_ttl(3s, [&](duration ttl) {
    mutex stock{one(), "stock", lock_options{}.ttl(ttl)};
    EXPECT_THROW(static_cast<void>(stock.release_requested()), error);
    lock_set both{one(), {"account/1"}, lock_options{}.ttl(ttl)};
    EXPECT_THROW(static_cast<void>(both.release_requested()), error);
    const auto held =
        insist([&] { return std::make_unique<std::scoped_lock<mutex, lock_set>>(stock, both); });
    const auto of_mutex = stock.release_requested();
    const auto of_set = both.release_requested();
    EXPECT_FALSE(of_mutex.stop_requested());
    const bool both_asked = two().request_release("stock") == 1U && two().request_release("account/1") == 1U;
    const auto heard = [&] { return of_mutex.stop_requested() && of_set.stop_requested(); };
    const auto both_held = [&] { return stock.held() && both.held(); };
    EXPECT_TRUE(look().sees([&] { return heard() || !both_held(); }));
    return both_asked && heard() && both_held();
  });
}

TEST_P(release_requests, go_out_asynchronously_too) {
  EXPECT_EQ(async_request_release(one(), "stock", "", asio::use_future).get(), 0U);
  auto held = hold_exclusively(one());
  EXPECT_EQ(async_request_release(two(), "stock", held.token(), "please", asio::use_future).get(), 1U);
  EXPECT_TRUE(hears(held));
  EXPECT_EQ(held.release_request(), "please");
  auto refused = async_request_release(two(), "", "", holdfast::with_diagnostics(asio::use_future));
  EXPECT_EQ(failure_of([&] { return refused.get(); }).code, errc::invalid_name);
}

TEST_P(release_requests, are_heard_by_no_inert_lease) {
  const lease none;
  EXPECT_FALSE(none.release_requested().stop_possible());
  EXPECT_FALSE(none.release_request());
  EXPECT_FALSE(lease_set{}.release_requested().stop_possible());
  EXPECT_FALSE(term{}.release_request());
}

HOLDFAST_ON_EACH_STORE(release_requests, any_store);

}  // namespace
}  // namespace holdfast::contract
