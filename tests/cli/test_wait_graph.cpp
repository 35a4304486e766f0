// SPDX-License-Identifier: Apache-2.0
// Who waits for whom, and what of it is a deadlock.

#include <chrono>
#include <gmock/gmock.h>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "why/remedy.hpp"
#include "why/wait_graph.hpp"

namespace holdfast::cli {
namespace {

using testing::IsEmpty;

/// As in "2", process 2, and behind that in this order: "r" as a reader, or "p" for one permit of two; "#4"
/// with this token, and later ones are younger; "@1" as a command that process 1 runs; "-" for a name that
/// rests.
claim_state claim_of(const std::string& text) {
  static int claims = 0;
  claim_state claim;
  claim.owner = std::to_string(++claims);
  claim.claimant.host = "alpha";
  std::istringstream rest{text};
  rest >> claim.claimant.pid;
  for (char sign = 0; rest >> sign;) {
    std::int64_t number = 1;
    if (sign == '#' || sign == '@') rest >> number;
    if (sign == 'r') claim.mode = mode::shared;
    if (sign == 'p') {
      claim.mode = mode::permits;
      claim.permits = number;
    }
    if (sign == '#') {
      claim.token = fencing_token{static_cast<std::uint64_t>(number)};
      claim.age = std::chrono::hours{1} - std::chrono::minutes{number};
    }
    if (sign == '@') claim.claimant.job = "alpha " + std::to_string(number);
    if (sign == '-') claim.claimant.released = true;
  }
  return claim;
}

/// As in "a: 1 2 < 3 4": 1 and 2 hold "a"; 3 and then 4 wait for it.
lock_state lock_of(const std::string& text) {
  lock_state lock;
  std::istringstream words{text};
  std::getline(words, lock.name, ':');
  auto* claims = &lock.holders;
  for (std::string word; words >> word;) {
    if (word == "<") {
      claims = &lock.waiters;
      continue;
    }
    claims->push_back(claim_of(word));
    if (claims->back().mode == mode::permits) lock.capacity = 2;
  }
  return lock;
}

std::vector<lock_state> locks_of(const std::vector<std::string>& texts) {
  std::vector<lock_state> locks;
  for (const auto& each : texts) locks.push_back(lock_of(each));
  return locks;
}

/// The processes of each deadlock, as in "1 2; 10 11".
std::string deadlocks_in(std::vector<lock_state> locks) {
  const wait_graph graph{std::move(locks)};
  std::set<std::set<std::int64_t>> all;
  for (const auto& deadlock : graph.deadlocks()) {
    std::set<std::int64_t> members;
    for (const party* member : deadlock) members.insert(member->process.pid);
    all.insert(members);
  }
  std::string text;
  for (const auto& members : all) {
    if (!text.empty()) text += "; ";
    for (const auto pid : members) text += (pid == *members.begin() ? "" : " ") + std::to_string(pid);
  }
  return text;
}

TEST(wait_graphs, have_these_deadlocks) {
  struct row {
    const char* situation;
    std::vector<std::string> locks;
    std::string deadlocks;
  };
  const std::vector<row> rows{
      {"a chain", {"a: 1 < 2", "b: 2 < 3"}, ""},
      {"a cycle, and those who merely wait for it", {"a: 1 < 3 2 4", "b: 2 < 1", "c: 3 < 5"}, "1 2"},
      {"two cycles",
       {"a: 10 < 11", "b: 11 < 12", "c: 12 < 10", "d: 20 < 21", "e: 21 < 22", "f: 22 < 20"},
       "10 11 12; 20 21 22"},
      {"readers for whom a writer waits", {"a: 1r 2r < 3", "b: 3 < 2r"}, "2 3"},
      {"readers who wait behind a writer", {"a: 1r < 2 3r", "b: 3 < 1"}, "1 2 3"},
      {"readers alone", {"a: 1r < 2r", "b: 2r < 1r"}, ""},
      {"permits of which a holder waits for nothing, so it ends", {"a: 1p 9p < 2p", "b: 2 < 1"}, ""},
      {"permits of which each holder waits", {"a: 1p 9p < 2p", "b: 2 < 1 9"}, "1 2 9"},
      {"threads of one process", {"a: 1 < 1"}, ""},
      {"threads of which another may release the lock", {"a: 1 < 1 2", "b: 2 < 1", "c: 3 < 1"}, ""},
      {"a command that waits for the one around it", {"a: 1 < 2@1"}, "1 2"},
      {"a command that is run by somebody else", {"a: 1 < 2@7"}, ""},
      // make -j under holdfast run, say.
      {"commands beside one another", {"build: 1", "link: 2@1 < 3@1"}, ""},
      {"commands beside one another, and a queue behind the job", {"build: 1 < 4", "link: 2@1 < 3@1"}, ""},
      {"nested commands", {"a: 1 < 4", "b: 2@1", "c: 4 < 3@2"}, "1 2 3 4"},
      {"a name that rests", {"a: 1- < 2", "b: 2 < 1"}, ""},
      {"two foreign claims, which are two processes", {"a: 0 < 2", "b: 2 < 0"}, ""},
  };
  for (const auto& [situation, locks, deadlocks] : rows)
    EXPECT_EQ(deadlocks_in(locks_of(locks)), deadlocks) << situation;
}

TEST(wait_graphs, of_a_long_queue_before_a_cycle_end_soon) {
  std::string queue = "a: 1 <";
  for (int pid = 100; pid < 3000; ++pid) queue += ' ' + std::to_string(pid);
  EXPECT_EQ(deadlocks_in(locks_of({queue + " 2", "b: 2 < 1"})), "1 2");
}

TEST(wait_graphs, of_two_observations_have_what_stood_in_both) {
  const auto first = locks_of({"a: 1 < 2", "b: 2 < 1"});
  EXPECT_EQ(deadlocks_in(in_both(first, first)), "1 2");

  auto second = first;
  second[1].holders = {claim_of("2")};  // released, and held again: in between, 1 could have gone on
  EXPECT_EQ(deadlocks_in(in_both(first, second)), "");
}

TEST(wait_graphs, lead_through_all_nested_commands) {
  const wait_graph graph{locks_of({"a: 1", "b: 2@1", "c: 4 < 3@2"})};
  const auto waits_of_outer = graph.all_waits(graph.party_of(graph.find("a")->holders.front()));
  ASSERT_EQ(waits_of_outer.size(), 1U);
  EXPECT_EQ(waits_of_outer.front().name, "c");
}

TEST(wait_graphs, end_where_two_processes_say_that_they_run_one_another) {
  const wait_graph graph{locks_of({"a: 1@2", "b: 2@1"})};
  EXPECT_THAT(graph.all_waits(graph.party_of(graph.find("a")->holders.front())), IsEmpty());
}

TEST(wait_graphs, lead_from_a_holder_to_what_it_waits_for) {
  const wait_graph graph{locks_of({"a: 1", "b: 2 < 3 1", "c: 1"})};
  ASSERT_NE(graph.find("a"), nullptr);
  EXPECT_EQ(graph.find("d"), nullptr);
  const party& holder = graph.party_of(graph.find("a")->holders.front());
  ASSERT_EQ(holder.waits.size(), 1U);
  EXPECT_EQ(holder.waits.front().name, "b");
  EXPECT_EQ(holder.waits.front().place, 2U);
  ASSERT_EQ(holder.holds.size(), 2U);
  EXPECT_EQ(holder.holds.back().name, "c");
}

TEST(wait_graphs, end_by_these_holds) {
  struct row {
    const char* situation;
    std::vector<std::string> locks;
    std::string end;
  };
  const std::vector<row> rows{
      {"the youngest of the cycle", {"a: 1#1 < 2", "b: 2#2 < 1"}, "b"},
      {"a younger one for which nobody in the cycle waits", {"x: 1#1 < 2", "y: 2#2 < 1", "z: 1#3 < 3"}, "y"},
      {"one of two readers who both keep the writer waiting", {"a: 1r#2 2r#3 < 3", "b: 3#1 < 1r 2r"}, "b"},
      {"no single one of two cycles with a common member",
       {"a: 1#1 < 2", "b: 2r#2 3r#3 < 1", "d: 1#4 < 3"},
       ""},
      {"none without a token", {"a: 1 < 2", "b: 2 < 1"}, ""},
  };
  for (const auto& [situation, locks, end] : rows) {
    const wait_graph graph{locks_of(locks)};
    const auto deadlocks = graph.deadlocks();
    ASSERT_EQ(deadlocks.size(), 1U) << situation;
    std::size_t attempts = 50;
    const claim_on* const hold = hold_to_end(graph, deadlocks.front(), attempts);
    EXPECT_EQ(hold == nullptr ? "" : hold->name, end) << situation;
  }
}

TEST(wait_graphs, do_not_end_by_a_hold_that_rests) {
  const wait_graph graph{locks_of({"a: 1#1 < 2", "b: 2#2 1r#3- < 1"})};
  const auto deadlocks = graph.deadlocks();
  std::size_t attempts = 0;
  EXPECT_EQ(hold_to_end(graph, deadlocks.at(0), attempts), nullptr) << "more than may be tried";
  attempts = 50;
  const auto* const hold = hold_to_end(graph, deadlocks.at(0), attempts);
  EXPECT_LT(attempts, 50U);
  ASSERT_NE(hold, nullptr);
  EXPECT_EQ(hold->claim.token, fencing_token{2});
}

}  // namespace
}  // namespace holdfast::cli
