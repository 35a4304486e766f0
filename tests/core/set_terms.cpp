// SPDX-License-Identifier: Apache-2.0
// The terms of the options hold for sets as for one name: ttl, retries, and how a claim ends.

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

class set_terms : public managed_leases {
 protected:
  void SetUp() override {
    also_on_loss = [this](const lease_record_ptr& lease) { sets.lost(*lease); };
  }
  lease_core::op_id ask_for_all(bool waits = true, bool renews = true, duration ttl = 30s,
                                std::optional<store::time_point> limit = {}) {
    lease_core::op_id id = 0;
    it.time.turn([&] {
      std::vector<store::claim> wishes;
      for (const char* name : {"a", "b", "c"}) {
        wishes.push_back(a_claim());
        wishes.back().renews = renews;
        wishes.back().name = name;
        wishes.back().wait = waits;
        wishes.back().ttl = ttl;
      }
      id = sets.acquire(std::move(wishes), limit, [this](set_taken t) { ended.push_back(std::move(t)); });
    });
    return id;
  }
  /// The three names, of which two are not free at first.
  void grant_one_after_the_other() {
    it.answer(granted_at(7));
    it.answer(tickets::refused{});
    it.answer(tickets::refused{});
    it.answer(granted_at(8));
    it.answer(granted_at(9));
  }
  /// Fails the requests that are under way, as a session does that has no connection for a moment.
  void fail_all() {
    for (auto open = it.link.open(); open != 0; --open) {
      it.answer(store::request_error{{errc::unavailable, "no connection"}, false, false});
    }
  }
  /// Answers all renewals that are under way.
  void keep_all() {
    while (it.link.open() != 0) {
      it.answer(
          tickets::kept{std::vector<bool>(std::get<tickets::renew>(it.link.request()).holds.size(), true)});
    }
  }
  /// Renews what is held, and leaves the claim for b in its queue.
  void serve_until(store::time_point until) {
    while (it.time.now() < until) {
      it.time.run_until(std::min(until, std::max(it.time.next_timer(), it.time.now())));
      while (it.link.open() != 0) {
        const auto& r = it.link.request();
        if (task_of(r) == task::withdraw) ++withdrawn;
        if (task_of(r) == task::renew) {
          it.answer(tickets::kept{std::vector<bool>(std::get<tickets::renew>(r).holds.size(), true)});
        } else {
          it.answer(task_of(r) == task::look ? tickets::reply{waiting_at(8)}
                                             : tickets::reply{tickets::done{}});
        }
      }
    }
  }
  /// Answers the first request of that kind and name.
  void reply_to(task kind, const std::string& name, const tickets::reply& with) {
    for (std::size_t i = 0; i < it.link.open(); ++i) {
      if (task_of(it.link.request(i)) == kind && form_of(it.link.request(i)).name == name)
        return it.answer(with, i);
    }
    ADD_FAILURE() << "nothing is asked of " << name << " at " << (it.time.now() - epoch).count();
  }

  lease_core::set_claims sets{it.time, all, operations};
  std::vector<set_taken> ended;
  int withdrawn = 0;
};

// While a set waits, what it holds is renewed, whoever renews it afterwards.
TEST_F(set_terms, fixed_leases_begin_with_their_ttl) {
  ask_for_all(true, false);
  it.answer(granted_at(7));
  it.answer(tickets::refused{});
  it.answer(tickets::refused{});
  const owner_id b = form_of(it.link.request()).owner;
  it.answer(waiting_at(8));
  serve_until(epoch + 29600ms);
  // The holder of b hands over.
  it.notify(b, grant_of(8));
  reply_to(task::look, "b", granted_at(8));
  reply_to(task::acquire, "c", granted_at(9));
  EXPECT_TRUE(ended.empty()) << "they are renewed once more";
  keep_all();
  ASSERT_EQ(ended.size(), 1U);
  const auto& leases = std::get<std::vector<lease_record_ptr>>(ended[0]);
  for (const auto& lease : leases) {
    EXPECT_GE(lease->deadline() - it.time.now(), 30s - margin) << lease->hold.name;
  }
  const auto deadline = leases[0]->deadline();
  it.time.run_until(deadline - 1s);
  EXPECT_EQ(it.link.open(), 0U) << "from now on their user renews them";
  it.time.run_until(deadline);
  EXPECT_EQ(losses.size(), 3U);
}

TEST_F(set_terms, fixed_leases_are_handed_over_at_the_limit_if_the_store_does_not_renew_them) {
  ask_for_all(true, false, 30s, epoch + 5s);
  grant_one_after_the_other();
  EXPECT_TRUE(ended.empty());
  it.time.run_until(epoch + 5s);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<std::vector<lease_record_ptr>>(ended[0]));
}

TEST_F(set_terms, fixed_leases_whose_last_renewal_is_refused_are_renewed_again_after_a_pause) {
  ask_for_all(true, false);
  grant_one_after_the_other();
  fail_all();
  EXPECT_EQ(it.link.open(), 0U) << "not at once";
  EXPECT_TRUE(ended.empty());
  it.time.run_for(1s);
  keep_all();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<std::vector<lease_record_ptr>>(ended[0]));
}

// Their loss, when the leases are closed, is no reason to acquire them anew: neither while they are renewed
// for the last time, nor in the pause before that is tried again.
class closed_set_terms : public set_terms, public testing::WithParamInterface<bool> {};

TEST_P(closed_set_terms, acquire_nothing_anew) {
  ask_for_all(true, false);
  grant_one_after_the_other();
  if (GetParam()) fail_all();
  close();
  ASSERT_EQ(ended.size(), 1U);
  const auto* const failed = std::get_if<failure>(&ended[0]);
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(failed->code, errc::closed);
  while (it.link.open() != 0) {
    EXPECT_NE(task_of(it.link.request()), task::acquire);
    if (task_of(it.link.request()) == task::renew) {
      it.answer(
          tickets::kept{std::vector<bool>(std::get<tickets::renew>(it.link.request()).holds.size(), true)});
    } else {
      it.answer(tickets::done{});
    }
  }
  it.time.run_for(1min);
  EXPECT_EQ(it.link.open(), 0U);
  EXPECT_EQ(ended.size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(, closed_set_terms, testing::Bool());

TEST_F(set_terms, fixed_leases_that_are_cancelled_at_their_last_renewal_are_released) {
  const auto id = ask_for_all(true, false);
  grant_one_after_the_other();
  cancel(id);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<failure>(ended[0]));
  std::size_t releases = 0;
  for (std::size_t i = 0; i < it.link.open(); ++i) {
    releases += tickets::is_release(it.link.request(i)) ? 1 : 0;
  }
  EXPECT_EQ(releases, 3U);
  reply_to(task::renew, "", tickets::kept{{true}});
  EXPECT_EQ(ended.size(), 1U);
}

// Behind others who hold b for 200 s in all, with a fixed ttl of 30 s.
TEST_F(set_terms, fixed_leases_keep_their_place_in_a_queue_that_takes_longer_than_their_ttl) {
  ask_for_all(true, false);
  it.answer(granted_at(7));
  it.answer(tickets::refused{});
  it.answer(tickets::refused{});
  it.answer(waiting_at(8));
  serve_until(epoch + 200s);
  EXPECT_EQ(withdrawn, 0) << "each time it goes to the end of the queue of b";
  EXPECT_TRUE(losses.empty());
}

TEST_F(set_terms, a_store_that_is_full_for_a_moment_ends_no_wait) {
  ask_for_all();
  it.answer(granted_at(7));
  it.answer(store::request_error{{errc::exhausted, "OOM"}, true, false});
  it.answer(granted_at(9));
  EXPECT_TRUE(ended.empty()) << "a mutex tries again for as long as its retry policy says";
}

TEST_F(set_terms, a_silent_store_is_given_up_at_the_retry_limit) {
  ask_for_all();
  it.time.run_until(epoch + 11500ms);  // retry limit 10 s
  EXPECT_EQ(ended.size(), 1U);
  it.time.run_until(epoch + 25s);
  EXPECT_EQ(ended.size(), 1U);
}

TEST_F(set_terms, that_only_try_and_lose_a_name_meanwhile_say_so) {
  ask_for_all(false, false, 1s);
  it.answer(granted_at(7));
  it.answer(granted_at(8));
  it.time.run_for(900ms);
  reply_to(task::acquire, "c", granted_at(9));
  reply_to(task::look, "c", granted_at(9));  // the grant is old
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_FALSE(lease_core::is_refusal(std::get<failure>(ended[0]))) << "no other holds anything";
}

// The server takes longer for the tries of a round than a ttl lasts: nobody else is there.
TEST_F(set_terms, that_cannot_be_held_within_their_ttl_say_so_in_the_end) {
  ask_for_all(true, true, 1s);
  int rounds = 0;
  for (; rounds < 50 && ended.empty(); ++rounds) {
    if (rounds == 0) {
      reply_to(task::acquire, "a", granted_at(7 + rounds * 10));
    }
    it.time.run_for(2s);  // of silence: the renewal of "a" stands behind the tries
    while (ended.empty()) {
      bool answered = false;
      for (std::size_t i = 0; i < it.link.open() && !answered; ++i) {
        const auto& r = it.link.request(i);
        if ((task_of(r) == task::acquire && form_of(r).name != "a") || task_of(r) == task::look) {
          it.answer(granted_at(task_of(r) == task::look ? form_of(r).token.value() : 1000 + rounds * 10 + i),
                    i);
          answered = true;
        } else if (task_of(r) == task::renew) {
          it.answer(tickets::kept{std::vector<bool>(std::get<tickets::renew>(r).holds.size(), false)}, i);
          answered = true;
        } else if (tickets::is_release(r) || task_of(r) == task::withdraw) {
          it.answer(tickets::done{}, i);
          answered = true;
        }
      }
      if (!answered) break;
    }
    it.time.run_for(1ns);
    if (ended.empty()) reply_to(task::acquire, "a", granted_at(7 + (rounds + 1) * 10));
    if (HasFailure()) break;
  }
  ASSERT_EQ(ended.size(), 1U) << "after " << rounds << " rounds";
  EXPECT_EQ(std::get<failure>(ended[0]).code, errc::lost);
}

}  // namespace
}  // namespace holdfast
