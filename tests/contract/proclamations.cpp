// SPDX-License-Identifier: Apache-2.0
// term::proclaim: a leader replaces the value that others see.

#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_future.hpp>

#include "contract/contract.hpp"
#include <holdfast/async.hpp>

namespace holdfast::contract {
namespace {

namespace asio = boost::asio;
using testing::ElementsAre;
using testing::HasSubstr;

class proclamations : public on_each_store {
 protected:
  std::optional<candidate> leader() { return election{bystander(), "boss"}.leader(); }
};

TEST_P(proclamations, replace_the_value_within_the_term) {
  election boss{one(), "boss", lock_options{}.label("night shift").ttl(5s)};
  auto held = boss.campaign("starting");
  const auto token = held.token();
  held.proclaim("10.0.0.7:8080");
  EXPECT_EQ(held.value(), "10.0.0.7:8080");
  EXPECT_EQ(held.token(), token);
  auto seen = leader();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->value, "10.0.0.7:8080");
  EXPECT_EQ(seen->revision, 1U);
  EXPECT_EQ(seen->token, token);
  EXPECT_EQ(seen->process.label, "night shift");
  EXPECT_FALSE(election(two(), "boss").try_campaign("second"));
  // It is renewed as before.
  EXPECT_EQ(held.renew(), renewal::renewed);
  const auto first = held.deadline();
  EXPECT_TRUE(look().sees([&] { return held.deadline() > first; }));
  held.proclaim("10.0.0.7:8081");
  seen = leader();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->value, "10.0.0.7:8081");
  EXPECT_EQ(seen->revision, 2U);
  EXPECT_FALSE(held.resign());
  const auto next = election{two(), "boss"}.campaign("second");
  EXPECT_EQ(leader()->value, "second");
  EXPECT_EQ(leader()->revision, 0U);
}

TEST_P(proclamations, are_observed_in_order) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> values;
  const auto observer = election{two(), "boss"}.observe([&](const observation& seen) {
    const std::lock_guard hold{mutex};
    if (seen.leader) values.push_back(seen.leader->value);
    changed.notify_all();
  });
  const auto shows = [&](const std::string& value) {
    std::unique_lock hold{mutex};
    return changed.wait_for(hold, 60s, [&] { return !values.empty() && values.back() == value; });
  };
  auto held = election{one(), "boss"}.campaign("a");
  EXPECT_TRUE(shows("a"));
  held.proclaim("b");
  EXPECT_TRUE(shows("b"));
  held.proclaim("a");
  EXPECT_TRUE(shows("a"));
  const std::lock_guard hold{mutex};
  EXPECT_THAT(values, ElementsAre("a", "b", "a"));
}

TEST_P(proclamations, hand_over_to_those_who_stand_by) {
  auto held = election{one(), "boss"}.campaign("first");
  auto waiting =
      std::async(std::launch::async, [&locks = two()] { return election{locks, "boss"}.campaign("second"); });
  ASSERT_TRUE(look().sees_waiters("boss", 1));
  held.proclaim("first again");
  const auto all = election{bystander(), "boss"}.participants();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].value, "first again");
  EXPECT_EQ(all[1].value, "second");
  EXPECT_FALSE(held.resign());
  EXPECT_TRUE(waiting.get().held());
}

TEST_P(proclamations, take_any_bytes) {
  std::string every_byte;
  for (int each = 0; each < 256; ++each) every_byte += static_cast<char>(each);
  auto held = election{one(), "boss"}.campaign("first");
  for (const std::string& value : {every_byte, std::string{}, std::string(election::longest_value, '%')}) {
    held.proclaim(value);
    EXPECT_EQ(leader()->value, value);
  }
  const auto failed = failure_of([&] { held.proclaim(std::string(election::longest_value + 1, 'x')); });
  EXPECT_EQ(failed.code, errc::invalid_argument);
  EXPECT_THAT(failed.text, HasSubstr("cannot replace the value of 'boss' on "));
  EXPECT_TRUE(held.held());
}

TEST_P(proclamations, fail_after_the_term) {
  const auto code_of = [](term& held) { return failure_of([&] { held.proclaim("late"); }).code; };
  auto held = election{one(), "boss"}.campaign("first");
  EXPECT_TRUE(bystander().force_release("boss", held.token()));
  const auto next = election{two(), "boss"}.campaign("second");
  EXPECT_EQ(code_of(held), errc::lost);
  EXPECT_FALSE(held.held());
  EXPECT_EQ(held.value(), "first");
  EXPECT_EQ(leader()->value, "second");
  term inert;
  EXPECT_EQ(code_of(inert), errc::not_owner);
  two().close();
  auto late = std::move(held);
  EXPECT_EQ(code_of(late), errc::lost);
}

TEST_P(proclamations, come_asynchronously) {
  auto held = election{one(), "boss"}.async_campaign("first", asio::use_future).get();
  held = holdfast::async_proclaim(std::move(held), "second", asio::use_future).get();
  EXPECT_TRUE(held.held());
  EXPECT_EQ(held.value(), "second");
  EXPECT_EQ(leader()->value, "second");
  held = holdfast::async_proclaim(std::move(held), "third", asio::use_future).get();
  EXPECT_EQ(leader()->revision, 2U);
  auto [code, back] =
      holdfast::async_proclaim(std::move(held), std::string(5000, 'x'), asio::as_tuple(asio::use_future))
          .get();
  EXPECT_EQ(code, errc::invalid_argument);
  EXPECT_TRUE(back.held());
  EXPECT_EQ(back.value(), "third");
  EXPECT_THROW(holdfast::async_proclaim(term{}, "x", holdfast::with_diagnostics(asio::use_future)).get(),
               error);
}

HOLDFAST_ON_EACH_STORE(proclamations, any_store);

}  // namespace
}  // namespace holdfast::contract
