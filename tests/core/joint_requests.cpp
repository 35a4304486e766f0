// SPDX-License-Identifier: Apache-2.0
// Several names in one request: what a client makes of the answers, and of their absence.

#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "core/managed_leases.hpp"
#include "lease/set_claims.hpp"

namespace holdfast {
namespace {

using namespace test;
using lease_core::set_taken;
using answers = std::vector<tickets::several::answer>;

class joint_requests : public managed_leases {
 protected:
  void SetUp() override {
    it.link.is_joining = true;
    also_on_loss = [this](const lease_record_ptr& lease) { sets.lost(*lease); };
  }
  lease_core::op_id ask_for(const std::vector<std::string>& names, bool waits = true) {
    std::vector<store::claim> claims;
    for (const std::string& each : names) {
      claims.push_back(a_claim());
      claims.back().name = each;
      claims.back().wait = waits;
      claims.back().ttl = ttl;
      if (each == resting) claims.back().at_least = 60s;
    }
    lease_core::op_id id = 0;
    it.time.turn([&] {
      id = sets.acquire(std::move(claims), std::nullopt,
                        [this](set_taken t) { ended.push_back(std::move(t)); });
    });
    return id;
  }
  std::vector<lease_record_ptr> hold_all(const std::vector<std::string>& names) {
    ask_for(names);
    answers all;
    for (std::size_t i = 0; i < names.size(); ++i) all.emplace_back(granted_at(7 + i));
    it.answer(tickets::several{all});
    return std::get<std::vector<lease_record_ptr>>(ended.at(0));
  }
  void release_all(const std::vector<lease_record_ptr>& leases) {
    it.time.turn([&] {
      all.together([&] {
        for (const auto& each : leases)
          all.release(each, [this](std::error_code ec) { released.push_back(ec); });
      });
    });
  }
  /// What is asked and not answered: "acquire_all a b".
  [[nodiscard]] std::vector<std::string> pending() const {
    std::vector<std::string> all_pending;
    for (std::size_t i = 0; i < it.link.open(); ++i) {
      std::string& text = all_pending.emplace_back(name_of_task(it.link.request(i)));
      for (const std::string_view name : names_of(it.link.request(i))) text.append(" ").append(name);
    }
    return all_pending;
  }
  [[nodiscard]] const failure& failure_of_set() const { return std::get<failure>(ended.at(0)); }

  using texts = std::vector<std::string>;
  lease_core::set_claims sets{it.time, all, operations};
  std::vector<set_taken> ended;
  duration ttl = a_claim().ttl;
  std::string resting;  // the name that stays locked for a while
};

TEST_F(joint_requests, claim_all_names_of_a_set) {
  const auto leases = hold_all({"a", "b", "c"});
  ASSERT_EQ(leases.size(), 3U);
  EXPECT_EQ(leases[1]->hold.name, "b");
  EXPECT_EQ(leases[1]->hold.token, fencing_token{8});
  EXPECT_EQ(it.link.sent(), 1U);
}

TEST_F(joint_requests, of_one_name_are_not_made) {
  ask_for({"a"}, false);
  EXPECT_EQ(pending(), (texts{"acquire a"}));
}

TEST_F(joint_requests, are_not_sent_where_the_link_does_not_take_them) {
  it.link.is_joining = false;
  ask_for({"a", "b"});
  EXPECT_EQ(pending(), (texts{"acquire a", "acquire b"}));
}

TEST_F(joint_requests, count_leases_from_their_sending) {
  ask_for({"a", "b"});
  const auto sent_at = it.time.now();
  it.time.run_for(1s);
  it.answer(tickets::several{{granted_at(7), granted_at(8)}});
  for (const auto& lease : std::get<std::vector<lease_record_ptr>>(ended.at(0)))
    EXPECT_LT(lease->deadline(), sent_at + a_claim().ttl);
}

TEST_F(joint_requests, leave_the_names_behind_a_refused_one_alone) {
  ask_for({"a", "b", "c"});
  it.answer(tickets::several{{granted_at(7), tickets::refused{}}});
  EXPECT_EQ(pending(), (texts{"acquire b"})) << "it holds a, and has nothing to give back";
  EXPECT_TRUE(form_of(it.link.request()).wait);
  it.answer(granted_at(9));
  EXPECT_EQ(pending(), (texts{"acquire c"}));
  it.answer(granted_at(10));
  EXPECT_TRUE(std::holds_alternative<std::vector<lease_record_ptr>>(ended.at(0)));
}

TEST_F(joint_requests, that_are_refused_end_a_set_that_does_not_wait) {
  ask_for({"a", "b", "c"}, false);
  it.answer(tickets::several{{granted_at(7), tickets::refused{}}});
  EXPECT_TRUE(lease_core::is_refusal(failure_of_set()));
  EXPECT_EQ(pending(), (texts{"release a"}));
}

// The store says nothing of a name that is used as a semaphore, or of one that is no lock.
TEST_F(joint_requests, ask_one_by_one_for_the_names_without_an_answer) {
  ask_for({"a", "b", "c"});
  it.answer(tickets::several{{granted_at(7)}});
  EXPECT_EQ(pending(), (texts{"acquire b", "acquire c"}));
  it.answer(tickets::other_capacity{4});
  it.answer(granted_at(9));
  EXPECT_EQ(failure_of_set().code, errc::wrong_type);
  EXPECT_EQ(failure_of_set().message.substr(0, 5), "'b': ");
  EXPECT_EQ(pending(), (texts{"release_all a c"}));
}

TEST_F(joint_requests, that_were_not_carried_out_are_sent_one_by_one) {
  ask_for({"a", "b"});
  it.answer(store::request_error{{errc::permission_denied, "no"}, false, false});
  EXPECT_EQ(pending(), (texts{"acquire a", "acquire b"}));
  it.answer(granted_at(7));
  it.answer(granted_at(8));
  EXPECT_TRUE(std::holds_alternative<std::vector<lease_record_ptr>>(ended.at(0)));
}

TEST_F(joint_requests, without_an_answer_are_withdrawn_for_each_name) {
  ask_for({"a", "b"}, false);
  it.answer(store::request_error{{errc::unavailable, "no connection"}, true, true});
  EXPECT_EQ(failure_of_set().code, errc::unknown_outcome);
  EXPECT_EQ(pending(), (texts{"withdraw a", "withdraw b"}));
}

TEST_F(joint_requests, with_an_answer_of_another_kind_may_have_been_carried_out) {
  ask_for({"a", "b"}, false);
  it.answer(tickets::done{});
  EXPECT_EQ(pending(), (texts{"withdraw a", "withdraw b"}));
}

TEST_F(joint_requests, that_are_cancelled_leave_nothing) {
  const auto id = ask_for({"a", "b", "c"});
  cancel(id);
  EXPECT_EQ(failure_of_set().code, errc::cancelled);
  it.answer(tickets::several{{granted_at(7), tickets::refused{}}});
  EXPECT_EQ(pending(), (texts{"withdraw a", "withdraw b", "withdraw c"}));
}

TEST_F(joint_requests, look_once_more_at_a_grant_that_arrives_late) {
  ttl = 2s;
  ask_for({"a", "b"});
  it.time.run_for(1s);
  it.answer(tickets::several{{granted_at(7), granted_at(8)}});
  EXPECT_EQ(pending(), (texts{"look a", "look b"}));
}

TEST_F(joint_requests, have_a_largest_size) {
  texts names;
  for (std::size_t i = 0; i < tickets::most_in_one + 2; ++i)
    names.push_back("name " + std::to_string(1000 + i));
  ask_for(names);
  ASSERT_EQ(it.link.open(), 2U);
  EXPECT_EQ(names_of(it.link.request(0)).size(), tickets::most_in_one);
  EXPECT_EQ(names_of(it.link.request(1)).size(), 2U);
}

TEST_F(joint_requests, release_all_names_in_their_order) {
  auto leases = hold_all({"a", "b", "c"});
  std::reverse(leases.begin(), leases.end());
  release_all(leases);
  EXPECT_EQ(pending(), (texts{"release_all a b c"}));
  it.answer(tickets::several{{tickets::done{}, tickets::nothing{}, tickets::done{}}});
  EXPECT_EQ(released, (std::vector<std::error_code>{{}, errc::lost, {}}));
  EXPECT_EQ(it.link.open(), 0U);
}

TEST_F(joint_requests, release_one_by_one_what_has_no_answer) {
  release_all(hold_all({"a", "b", "c"}));
  it.answer(tickets::several{{tickets::done{}}});
  EXPECT_EQ(pending(), (texts{"release b", "release c"}));
}

TEST_F(joint_requests, release_again_what_may_not_have_been_released) {
  release_all(hold_all({"a", "b"}));
  it.answer(store::request_error{{errc::unavailable, "no connection"}, true, true});
  it.time.run_for(1s);
  EXPECT_EQ(pending(), (texts{"release a", "release b"}));
  it.answer(tickets::nothing{});
  it.answer(tickets::nothing{});
  EXPECT_EQ(released, (std::vector<std::error_code>{{}, {}})) << "the first request may have done it";
}

TEST_F(joint_requests, leave_what_has_to_rest_to_a_request_of_its_own) {
  resting = "a";
  release_all(hold_all({"a", "b"}));
  EXPECT_EQ(pending(), (texts{"annotate a", "renew ", "release b"}));
}

}  // namespace
}  // namespace holdfast
