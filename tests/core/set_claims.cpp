// SPDX-License-Identifier: Apache-2.0
// Several names at once: which requests a set sends, and what it gives back.

#include "lease/set_claims.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "core/managed_leases.hpp"

namespace holdfast {
namespace {

using namespace test;
using lease_core::set_taken;

class set_claims : public managed_leases {
 protected:
  void SetUp() override {
    also_on_loss = [this](const lease_record_ptr& lease) { sets.lost(*lease); };
  }
  static store::claim named(const std::string& name, bool waits = true) {
    store::claim wish = a_claim();
    wish.name = name;
    wish.wait = waits;
    return wish;
  }
  lease_core::op_id ask_for_all(bool waits = true, std::optional<store::time_point> limit = {}) {
    lease_core::op_id id = 0;
    it.time.turn([&] {
      id = sets.acquire({named("a", waits), named("b", waits), named("c", waits)}, limit,
                        [this](set_taken t) { ended.push_back(std::move(t)); });
    });
    return id;
  }
  /// What is asked and not answered: tasks and names.
  [[nodiscard]] std::vector<std::pair<task, std::string>> pending() const {
    std::vector<std::pair<task, std::string>> all_pending;
    for (std::size_t i = 0; i < it.link.open(); ++i) {
      all_pending.emplace_back(task_of(it.link.request(i)), form_of(it.link.request(i)).name);
    }
    return all_pending;
  }
  [[nodiscard]] const failure& failure_of_set() const { return std::get<failure>(ended.at(0)); }

  using requests = std::vector<std::pair<task, std::string>>;
  lease_core::set_claims sets{it.time, all, operations};
  std::vector<set_taken> ended;
};

TEST_F(set_claims, ask_for_all_names_before_the_first_reply) {
  ask_for_all();
  EXPECT_EQ(pending(), (requests{{task::acquire, "a"}, {task::acquire, "b"}, {task::acquire, "c"}}));
  for (std::size_t each = 0; each < 3; ++each)
    EXPECT_FALSE(form_of(it.link.request(each)).wait) << "they are tries";
  for (const std::uint64_t token : {7U, 8U, 9U}) it.answer(granted_at(token));
  ASSERT_EQ(ended.size(), 1U);
  const auto& leases = std::get<std::vector<lease_record_ptr>>(ended[0]);
  ASSERT_EQ(leases.size(), 3U);
  EXPECT_EQ(leases[1]->hold.name, "b");
  EXPECT_EQ(leases[1]->hold.token, fencing_token{8});
}

TEST_F(set_claims, give_back_what_comes_after_the_one_that_they_wait_for) {
  ask_for_all();
  it.answer(granted_at(9), 2);
  it.answer(granted_at(7), 0);
  it.answer(tickets::refused{});
  EXPECT_EQ(pending(), (requests{{task::release, "c"}, {task::acquire, "b"}}));
  EXPECT_TRUE(form_of(it.link.request(1)).wait);
  it.answer(granted_at(10), 1);
  EXPECT_EQ(pending(), (requests{{task::release, "c"}, {task::acquire, "c"}}));
  EXPECT_TRUE(form_of(it.link.request(1)).wait) << "nothing comes after it, so it is waited for at once";
  EXPECT_TRUE(ended.empty());
  it.answer(granted_at(11), 1);
  EXPECT_TRUE(std::holds_alternative<std::vector<lease_record_ptr>>(ended.at(0)));
}

TEST_F(set_claims, of_one_name_wait_for_it_at_once) {
  it.time.turn([&] {
    sets.acquire({named("a")}, std::nullopt, [this](set_taken t) { ended.push_back(std::move(t)); });
  });
  EXPECT_EQ(pending(), (requests{{task::acquire, "a"}}));
  EXPECT_TRUE(form_of(it.link.request()).wait);
}

// A try fails where a server cannot be reached, or grants nothing for a time. A claim that waits does not.
TEST_F(set_claims, wait_where_a_try_fails_that_may_pass) {
  ask_for_all();
  it.answer(granted_at(7));
  it.answer(store::request_error{{errc::unavailable, "no connection"}, true, false});
  it.answer(granted_at(9));
  EXPECT_TRUE(ended.empty());
  EXPECT_EQ(pending(), (requests{{task::release, "c"}, {task::acquire, "b"}}));
  EXPECT_TRUE(form_of(it.link.request(1)).wait);
  it.answer(granted_at(10), 1);
  it.answer(granted_at(11), 1);
  EXPECT_TRUE(std::holds_alternative<std::vector<lease_record_ptr>>(ended.at(0)));
}

TEST_F(set_claims, that_only_try_end_with_a_failure_that_may_pass) {
  ask_for_all(false);
  it.answer(granted_at(7));
  it.answer(store::request_error{{errc::unavailable, "no connection"}, true, false});
  it.answer(granted_at(9));
  EXPECT_EQ(failure_of_set().message.substr(0, 5), "'b': ");
  EXPECT_EQ(failure_of_set().code, errc::unavailable);
}

TEST_F(set_claims, end_with_the_failure_that_does_not_pass) {
  ask_for_all();
  it.answer(store::request_error{{errc::unavailable, "no connection"}, true, false});
  it.answer(tickets::other_capacity{4});
  it.answer(granted_at(9));
  EXPECT_EQ(failure_of_set().message.substr(0, 5), "'b': ");
  EXPECT_EQ(failure_of_set().code, errc::wrong_type);
}

TEST_F(set_claims, wait_no_longer_than_their_limit_for_the_answers_to_their_tries) {
  ask_for_all(true, epoch + 50ms);
  it.answer(granted_at(7));
  it.time.run_until(epoch + 50ms - 1ns);
  EXPECT_TRUE(ended.empty());
  it.time.run_for(1ns);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(failure_of_set().code, errc::unknown_outcome) << "nobody is known to hold the others";
}

TEST_F(set_claims, that_only_try_keep_nothing) {
  ask_for_all(false);
  it.answer(granted_at(7));
  it.answer(tickets::refused{});
  EXPECT_TRUE(ended.empty()) << "an answer is due";
  it.answer(granted_at(9));
  EXPECT_TRUE(lease_core::is_refusal(failure_of_set()));
  EXPECT_EQ(pending(), (requests{{task::release, "c"}, {task::release, "a"}}));
}

TEST_F(set_claims, that_fail_name_what_failed_and_keep_nothing) {
  ask_for_all();
  it.answer(granted_at(7));
  it.answer(tickets::other_capacity{4});
  it.answer(granted_at(9));
  EXPECT_EQ(failure_of_set().message.substr(0, 5), "'b': ");
  EXPECT_EQ(failure_of_set().code, errc::wrong_type);
  EXPECT_EQ(pending(), (requests{{task::release, "a"}, {task::release, "c"}}));
}

TEST_F(set_claims, that_are_cancelled_withdraw_what_is_under_way) {
  const auto id = ask_for_all();
  it.answer(granted_at(7));
  cancel(id);
  EXPECT_EQ(failure_of_set().code, errc::cancelled);
  EXPECT_EQ(ended.size(), 1U);
  // The tries are not known to have been refused: once they are answered, what they got is given back.
  it.answer(granted_at(8), 0);
  it.answer(granted_at(9), 0);
  std::vector<std::string> given_back;
  while (it.link.open() != 0) {
    EXPECT_TRUE(tickets::is_release(it.link.request()));
    given_back.push_back(form_of(it.link.request()).name);
    it.answer(tickets::done{});
  }
  std::sort(given_back.begin(), given_back.end());
  EXPECT_EQ(given_back, (std::vector<std::string>{"a", "b", "c"}));
  cancel(id);  // once more
  EXPECT_EQ(ended.size(), 1U);
}

TEST_F(set_claims, wait_no_longer_than_their_limit_in_all) {
  ask_for_all(true, epoch + 2s);
  it.answer(granted_at(7));
  it.answer(tickets::refused{});
  it.answer(tickets::refused{});
  it.answer(waiting_at(8));
  it.time.run_until(epoch + 2s - 1ns);
  EXPECT_TRUE(ended.empty());
  it.time.run_for(1ns);
  EXPECT_TRUE(lease_core::is_refusal(failure_of_set()));
  EXPECT_EQ(pending(), (requests{{task::withdraw, "b"}, {task::release, "a"}}));
}

TEST_F(set_claims, go_back_to_a_name_that_is_lost_while_they_wait) {
  ask_for_all();
  const owner_id first_owner = form_of(it.link.request(0)).owner;
  it.answer(granted_at(7));
  it.answer(tickets::refused{});
  it.answer(tickets::refused{});
  it.answer(waiting_at(8));
  it.notify(first_owner, revocation(7));
  it.answer(tickets::kept{{false}});  // the renewal that confirms it
  ASSERT_EQ(losses.size(), 1U);
  it.time.run_for(1ns);
  // What may be left of the lost one is released, too.
  EXPECT_EQ(pending(), (requests{{task::release, "a"}, {task::withdraw, "b"}, {task::acquire, "a"}}));
  it.answer(granted_at(20), 2);
  it.answer(tickets::done{});
  it.answer(tickets::done{});
  EXPECT_EQ(pending(), (requests{{task::acquire, "b"}, {task::acquire, "c"}}));
  it.answer(granted_at(21));
  it.answer(granted_at(22));
  const auto& leases = std::get<std::vector<lease_record_ptr>>(ended.at(0));
  EXPECT_EQ(leases[0]->hold.token, fencing_token{20});
}

// Nobody has worked under it. The set itself would wait behind the rest.
TEST_F(set_claims, leave_no_rest_of_a_name_that_is_lost_while_they_wait) {
  it.time.turn([&] {
    std::vector<store::claim> wishes{named("a"), named("b")};
    for (store::claim& each : wishes) {
      each.grace = 60s;
      each.retry.limit(1h);  // the wait goes on while the store is silent
    }
    sets.acquire(std::move(wishes), std::nullopt, [this](set_taken t) { ended.push_back(std::move(t)); });
  });
  it.answer(granted_at(7));
  it.answer(tickets::refused{});
  it.answer(waiting_at(8));
  it.time.run_until(epoch + 30s);  // no renewal is answered
  ASSERT_EQ(losses.size(), 1U);
  bool is_released = false;
  for (std::size_t i = 0; i < it.link.open(); ++i) {
    const tickets::request& each = it.link.request(i);
    is_released = is_released || (task_of(each) == task::release && form_of(each).name == "a");
    EXPECT_FALSE(task_of(each) == task::renew && form_of(each).is_last) << "it would rest";
  }
  EXPECT_TRUE(is_released);
}

// All leases of a session end at once. A lease that the set gives back because of another's loss stays given
// back.
TEST_F(set_claims, whose_leases_are_lost_at_one_time_keep_none_of_them) {
  it.link.session = epoch + 10s;
  ask_for_all();
  it.answer(granted_at(7));
  it.answer(granted_at(8));
  it.answer(tickets::refused{});
  it.answer(waiting_at(9));
  it.time.run_until(epoch + 11s);
  EXPECT_EQ(losses.size(), 2U);
  std::vector<std::string> claimed;
  for (const auto& [kind, name] : pending()) {
    if (kind == task::acquire) claimed.push_back(name);
  }
  EXPECT_EQ(claimed, (std::vector<std::string>{"a"})) << "it begins anew";
}

TEST_F(set_claims, end_with_the_client) {
  ask_for_all();
  it.answer(granted_at(7));
  it.answer(tickets::refused{});
  it.answer(granted_at(9));
  close();
  EXPECT_EQ(failure_of_set().code, errc::closed);
}

}  // namespace
}  // namespace holdfast
