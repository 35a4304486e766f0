// Who waits for whom, and what of it is a deadlock.

#include <algorithm>
#include <chrono>
#include <gmock/gmock.h>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "why/remedy.hpp"
#include "why/wait_graph.hpp"

namespace holdfast::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

/// Locks and the claims of processes, each of which is named by its number.
class wait_graphs : public testing::Test {
 protected:
  static claim_state claim_of(std::int64_t pid, mode in = mode::exclusive, std::int64_t permits = 0) {
    static int claims = 0;
    claim_state claim;
    claim.owner = std::to_string(++claims);
    claim.mode = in;
    claim.permits = permits;
    claim.claimant.host = "alpha";
    claim.claimant.pid = pid;
    return claim;
  }
  lock_state& lock(const std::string& name) {
    auto& state = locks_[name];
    state.name = name;
    return state;
  }
  void holds(std::int64_t pid, const std::string& name, mode in = mode::exclusive) {
    lock(name).holders.push_back(claim_of(pid, in));
  }
  void waits(std::int64_t pid, const std::string& name, mode in = mode::exclusive) {
    lock(name).waiters.push_back(claim_of(pid, in));
  }
  void holds_permits(std::int64_t pid, const std::string& name, std::int64_t permits, std::int64_t of) {
    lock(name).capacity = of;
    lock(name).holders.push_back(claim_of(pid, mode::permits, permits));
  }
  void waits_for_permits(std::int64_t pid, const std::string& name, std::int64_t permits) {
    lock(name).waiters.push_back(claim_of(pid, mode::permits, permits));
  }
  [[nodiscard]] std::vector<lock_state> locks() const {
    std::vector<lock_state> all;
    for (const auto& [name, state] : locks_) all.push_back(state);
    return all;
  }
  /// The process ids of each deadlock.
  static std::vector<std::set<std::int64_t>> deadlocks_in(std::vector<lock_state> locks) {
    const wait_graph graph{std::move(locks)};
    std::vector<std::set<std::int64_t>> result;
    for (const auto& deadlock : graph.deadlocks()) {
      auto& members = result.emplace_back();
      for (const party* member : deadlock) members.insert(member->process.pid);
    }
    return result;
  }
  [[nodiscard]] std::vector<std::set<std::int64_t>> deadlocks() const { return deadlocks_in(locks()); }

  /// As holds(), with a token; later ones are younger.
  void is_granted(std::int64_t pid, const std::string& name, mode in = mode::exclusive) {
    holds(pid, name, in);
    claim_state& hold = lock(name).holders.back();
    hold.token = fencing_token{++grants_};
    hold.age = std::chrono::hours{1} - std::chrono::minutes{grants_};
  }
  /// The name whose hold is to be ended, of the only deadlock; empty: no single one ends it.
  [[nodiscard]] std::string remedy() const {
    const wait_graph graph{locks()};
    const auto deadlocks = graph.deadlocks();
    EXPECT_EQ(deadlocks.size(), 1U);
    std::size_t attempts = 50;
    const claim_on* const hold =
        deadlocks.empty() ? nullptr : hold_to_end(graph, deadlocks.front(), attempts);
    return hold == nullptr ? std::string{} : hold->name;
  }

  std::map<std::string, lock_state> locks_;
  unsigned grants_ = 0;
};

TEST_F(wait_graphs, of_a_chain_have_no_deadlock) {
  holds(1, "a");
  waits(2, "a");
  holds(2, "b");
  waits(3, "b");
  EXPECT_THAT(deadlocks(), IsEmpty());
}

TEST_F(wait_graphs, of_a_cycle_have_one_without_those_who_merely_wait_for_it) {
  holds(1, "a");
  waits(3, "a");  // before the one of the cycle
  waits(2, "a");
  waits(4, "a");
  holds(2, "b");
  waits(1, "b");
  holds(3, "c");
  waits(5, "c");
  EXPECT_THAT(deadlocks(), ElementsAre(UnorderedElementsAre(1, 2)));
}

TEST_F(wait_graphs, of_two_cycles_have_two) {
  for (const std::int64_t first : {10, 20}) {
    const auto one = "one of " + std::to_string(first);
    const auto other = "other of " + std::to_string(first);
    holds(first, one);
    waits(first + 1, one);
    holds(first + 1, other);
    waits(first + 2, other);
    holds(first + 2, "third of " + std::to_string(first));
    waits(first, "third of " + std::to_string(first));
  }
  EXPECT_THAT(deadlocks(),
              UnorderedElementsAre(UnorderedElementsAre(10, 11, 12), UnorderedElementsAre(20, 21, 22)));
}

TEST_F(wait_graphs, of_readers_are_in_it_where_a_writer_waits_for_them) {
  holds(1, "a", mode::shared);
  holds(2, "a", mode::shared);
  waits(3, "a");
  holds(3, "b");
  waits(2, "b", mode::shared);
  EXPECT_THAT(deadlocks(), ElementsAre(UnorderedElementsAre(2, 3)));
}

TEST_F(wait_graphs, of_readers_who_wait_behind_a_writer) {
  holds(1, "a", mode::shared);
  waits(2, "a");
  waits(3, "a", mode::shared);  // behind the writer, who waits for 1
  holds(3, "b");
  waits(1, "b");
  EXPECT_THAT(deadlocks(), ElementsAre(UnorderedElementsAre(1, 2, 3)));
}

TEST_F(wait_graphs, of_readers_alone_have_none) {
  holds(1, "a", mode::shared);
  holds(2, "b", mode::shared);
  waits(1, "b", mode::shared);
  waits(2, "a", mode::shared);
  EXPECT_THAT(deadlocks(), IsEmpty());
}

TEST_F(wait_graphs, of_permits_have_one_only_when_no_other_holder_can_give_them_back) {
  holds_permits(1, "a", 1, 2);
  holds_permits(9, "a", 1, 2);  // waits for nothing, so it ends
  waits_for_permits(2, "a", 1);
  holds(2, "b");
  waits(1, "b");
  EXPECT_THAT(deadlocks(), IsEmpty());

  waits(9, "b");
  EXPECT_THAT(deadlocks(), ElementsAre(UnorderedElementsAre(1, 2, 9)));
}

TEST_F(wait_graphs, of_threads_of_one_process_have_none) {
  holds(1, "a");
  waits(1, "a");
  EXPECT_THAT(deadlocks(), IsEmpty());

  // It waits for 2 in one thread; the lock that 2 waits for may be released by another one, which goes on.
  holds(2, "b");
  waits(1, "b");
  waits(2, "a");
  holds(3, "c");
  waits(1, "c");
  EXPECT_THAT(deadlocks(), IsEmpty());
}

TEST_F(wait_graphs, of_a_command_that_waits_for_the_one_around_it) {
  holds(1, "a");
  waits(2, "a");
  lock("a").waiters.back().claimant.job = "alpha 1";
  EXPECT_THAT(deadlocks(), ElementsAre(UnorderedElementsAre(1, 2)));

  lock("a").waiters.back().claimant.job = "alpha 7";
  EXPECT_THAT(deadlocks(), IsEmpty());
}

// make -j under holdfast run, say.
TEST_F(wait_graphs, of_commands_beside_one_another_have_none) {
  holds(1, "build");
  holds(2, "link");
  waits(3, "link");
  for (auto* const claim : {&lock("link").holders.back(), &lock("link").waiters.back()})
    claim->claimant.job = "alpha 1";
  EXPECT_THAT(deadlocks(), IsEmpty());

  waits(4, "build");  // in the queue behind the whole job
  EXPECT_THAT(deadlocks(), IsEmpty());
}

TEST_F(wait_graphs, lead_through_all_nested_commands) {
  holds(1, "a");
  holds(2, "b");
  lock("b").holders.back().claimant.job = "alpha 1";
  waits(3, "c");
  lock("c").waiters.back().claimant.job = "alpha 2";
  holds(4, "c");
  const wait_graph graph{locks()};
  const auto waits_of_outer = graph.all_waits(graph.party_of(graph.find("a")->holders.front()));
  ASSERT_EQ(waits_of_outer.size(), 1U);
  EXPECT_EQ(waits_of_outer.front().name, "c");

  waits(4, "a");
  EXPECT_THAT(deadlocks(), ElementsAre(UnorderedElementsAre(1, 2, 3, 4)));
}

TEST_F(wait_graphs, end_where_two_processes_say_that_they_run_one_another) {
  holds(1, "a");
  lock("a").holders.back().claimant.job = "alpha 2";
  holds(2, "b");
  lock("b").holders.back().claimant.job = "alpha 1";
  const wait_graph graph{locks()};
  EXPECT_THAT(graph.all_waits(graph.party_of(graph.find("a")->holders.front())), IsEmpty());
}

TEST_F(wait_graphs, of_a_name_that_rests_have_none) {
  holds(1, "a");
  lock("a").holders.back().claimant.released = true;
  waits(2, "a");
  holds(2, "b");
  waits(1, "b");
  EXPECT_THAT(deadlocks(), IsEmpty());
}

TEST_F(wait_graphs, take_two_foreign_claims_as_two) {
  holds(0, "a");
  waits(0, "b");
  holds(2, "b");
  waits(2, "a");
  EXPECT_THAT(deadlocks(), IsEmpty());
}

TEST_F(wait_graphs, of_a_long_queue_before_a_cycle_end_soon) {
  holds(1, "a");
  for (std::int64_t pid = 100; pid < 3000; ++pid) waits(pid, "a");
  waits(2, "a");
  holds(2, "b");
  waits(1, "b");
  EXPECT_THAT(deadlocks(), ElementsAre(UnorderedElementsAre(1, 2)));
}

TEST_F(wait_graphs, of_two_observations_have_what_stood_in_both) {
  holds(1, "a");
  waits(2, "a");
  holds(2, "b");
  waits(1, "b");
  const auto first = locks();
  EXPECT_THAT(deadlocks_in(in_both(first, first)), ElementsAre(UnorderedElementsAre(1, 2)));

  lock("b").holders = {claim_of(2)};  // released, and held again: in between, 1 could have gone on
  EXPECT_THAT(deadlocks_in(in_both(first, locks())), IsEmpty());
}

TEST_F(wait_graphs, lead_from_a_holder_to_what_it_waits_for) {
  holds(1, "a");
  holds(1, "c");
  holds(2, "b");
  waits(3, "b");
  waits(1, "b");
  const wait_graph graph{locks()};
  ASSERT_NE(graph.find("a"), nullptr);
  EXPECT_EQ(graph.find("d"), nullptr);
  const party& holder = graph.party_of(graph.find("a")->holders.front());
  ASSERT_EQ(holder.waits.size(), 1U);
  EXPECT_EQ(holder.waits.front().name, "b");
  EXPECT_EQ(holder.waits.front().place, 2U);
  ASSERT_EQ(holder.holds.size(), 2U);
  EXPECT_EQ(holder.holds.back().name, "c");
}

TEST_F(wait_graphs, end_by_the_youngest_hold_of_the_cycle) {
  is_granted(1, "a");
  is_granted(2, "b");
  waits(1, "b");
  waits(2, "a");
  EXPECT_EQ(remedy(), "b");
}

TEST_F(wait_graphs, do_not_end_by_a_younger_hold_that_nobody_in_the_cycle_waits_for) {
  is_granted(1, "x");
  is_granted(2, "y");
  is_granted(1, "z");
  waits(1, "y");
  waits(2, "x");
  waits(3, "z");
  EXPECT_EQ(remedy(), "y");
}

TEST_F(wait_graphs, do_not_end_by_a_hold_that_rests) {
  is_granted(1, "a");
  is_granted(2, "b");
  is_granted(1, "b", mode::shared);
  lock("b").holders.back().claimant.released = true;
  waits(1, "b");
  waits(2, "a");
  const wait_graph graph{locks()};
  const auto deadlocks = graph.deadlocks();
  std::size_t attempts = 0;
  EXPECT_EQ(hold_to_end(graph, deadlocks.at(0), attempts), nullptr) << "more than may be tried";
  attempts = 50;
  const auto* const hold = hold_to_end(graph, deadlocks.at(0), attempts);
  EXPECT_LT(attempts, 50U);
  ASSERT_NE(hold, nullptr);
  EXPECT_EQ(hold->claim.token, fencing_token{2});
}

TEST_F(wait_graphs, do_not_end_by_one_of_two_readers_who_both_keep_the_writer_waiting) {
  is_granted(3, "b");
  is_granted(1, "a", mode::shared);
  is_granted(2, "a", mode::shared);
  waits(3, "a");
  waits(1, "b", mode::shared);
  waits(2, "b", mode::shared);
  EXPECT_EQ(remedy(), "b");
}

TEST_F(wait_graphs, of_two_cycles_with_a_common_member_may_end_by_no_single_hold) {
  is_granted(1, "a");
  is_granted(2, "b", mode::shared);
  is_granted(3, "b", mode::shared);
  is_granted(1, "d");
  waits(1, "b");
  waits(2, "a");
  waits(3, "d");
  EXPECT_EQ(remedy(), "");
}

TEST_F(wait_graphs, end_by_no_hold_without_a_token) {
  holds(1, "a");
  holds(2, "b");
  waits(1, "b");
  waits(2, "a");
  EXPECT_EQ(remedy(), "");
}

}  // namespace
}  // namespace holdfast::cli
