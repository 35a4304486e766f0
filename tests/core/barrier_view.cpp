// What the claims of a latch and of a barrier say together.

#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "core/arrivals.hpp"
#include "core/samples.hpp"

namespace holdfast {
namespace {

using test::id;
using kind = store::attendance::kind;

claim_state a_holder(std::string value, std::int64_t permits = 1) {
  claim_state c;
  c.mode = mode::permits;
  c.permits = permits;
  c.claimant.program = "worker";
  c.claimant.value = std::move(value);
  return c;
}
claim_state a_holder(const store::attendance& attendance, std::int64_t permits = 1) {
  return a_holder(store::to_value(attendance), permits);
}

std::optional<lock_state> held_by(std::vector<claim_state> holders) {
  lock_state s;
  s.holders = std::move(holders);
  return s;
}
std::optional<lock_state> held_by(const std::vector<store::attendance>& attendances) {
  std::vector<claim_state> holders;
  for (const store::attendance& each : attendances) holders.push_back(a_holder(each));
  return held_by(std::move(holders));
}

TEST(attendances, come_back_as_they_were_written) {
  for (const store::attendance& each :
       {store::attendance{kind::counted, 0, id(1)}, store::attendance{kind::arrived, 7, id(2)},
        store::attendance{kind::passed, 1ULL << 63U, id(3)}}) {
    const auto back = store::attendance_in(store::to_value(each));
    ASSERT_TRUE(back);
    EXPECT_EQ(back->stands_for, each.stands_for);
    EXPECT_EQ(back->phase, each.phase);
    EXPECT_EQ(back->party, each.party);
  }
}

TEST(attendances, are_not_seen_in_other_values) {
  const std::string party = id(1).hex();
  for (const std::string& each : std::vector<std::string>{
           std::string{}, std::string{" "}, std::string{"counted"}, "counted " + party + "0",
           "arrived " + party, "arrived 1", "arrived x " + party, "arrived -1 " + party,
           "arrived  1 " + party, "passed 1x " + party, "arrived 18446744073709551615 " + party,
           "arrived 99999999999999999999 " + party, "left 1 " + party, std::string{"10.0.0.7:8080"}}) {
    EXPECT_FALSE(store::attendance_in(each)) << each;
  }
}

TEST(latch_counts, are_permits_that_say_so) {
  EXPECT_EQ(store::counted_in(std::nullopt, 3).arrived, 0);
  auto other = a_holder("10.0.0.7:8080");
  auto exclusive = a_holder({kind::counted, 0, id(4)});
  exclusive.mode = mode::exclusive;
  auto silent = a_holder("");
  silent.claimant.value.reset();
  const auto seen =
      store::counted_in(held_by({a_holder({kind::counted, 0, id(1)}, 2), a_holder({kind::counted, 0, id(2)}),
                                 a_holder({kind::arrived, 0, id(3)}), other, exclusive, silent}),
                        4);
  EXPECT_EQ(seen.arrived, 3);
  EXPECT_EQ(seen.expected, 4);
  EXPECT_EQ(seen.parties.size(), 2U);
  EXPECT_FALSE(seen.is_complete());
}

TEST(latch_counts, of_one_call_count_once) {
  const auto seen = store::counted_in(
      held_by({a_holder({kind::counted, 0, id(1)}, 2), a_holder({kind::counted, 0, id(1)}, 2)}), 4);
  EXPECT_EQ(seen.arrived, 2);
  EXPECT_EQ(seen.parties.size(), 1U);
}

TEST(barrier_view, of_an_unused_name_is_of_phase_zero) {
  const store::barrier_view view{std::nullopt, 2};
  EXPECT_FALSE(view.is_complete(0));
  EXPECT_EQ(view.phase_to_join(), 0U);
  EXPECT_EQ(view.at(0).arrived, 0);
}

TEST(barrier_view, is_complete_when_all_parties_are_there) {
  const store::barrier_view one{held_by({{kind::arrived, 3, id(1)}}), 2};
  EXPECT_FALSE(one.is_complete(3));
  EXPECT_TRUE(one.is_complete(2)) << "nobody arrives at 3 before 2 is complete";
  EXPECT_EQ(one.phase_to_join(), 3U);
  EXPECT_EQ(one.at(3).arrived, 1);
  EXPECT_EQ(one.at(2).arrived, 2);
  ASSERT_EQ(one.at(3).parties.size(), 1U);
  EXPECT_EQ(one.at(3).parties[0].program, "worker");
  const store::barrier_view all{held_by({{kind::arrived, 3, id(1)}, {kind::arrived, 3, id(2)}}), 2};
  EXPECT_TRUE(all.is_complete(3));
  EXPECT_FALSE(all.is_complete(4));
  EXPECT_EQ(all.phase_to_join(), 4U);
}

TEST(barrier_view, counts_parties_and_not_claims) {
  const store::barrier_view view{held_by({{kind::arrived, 3, id(1)}, {kind::arrived, 3, id(1)}}), 2};
  EXPECT_FALSE(view.is_complete(3));
  EXPECT_EQ(view.at(3).arrived, 1);
}

TEST(barrier_view, does_not_count_what_earlier_phases_have_left) {
  const store::barrier_view view{
      held_by({{kind::passed, 2, id(2)}, {kind::arrived, 3, id(1)}, {kind::arrived, 1, id(3)}}), 2};
  EXPECT_FALSE(view.is_complete(3));
  EXPECT_EQ(view.at(3).arrived, 1);
  EXPECT_EQ(view.phase_to_join(), 3U);
}

// One that has passed is proof enough: the arrivals of those who have gone on have ended.
TEST(barrier_view, stays_complete_when_a_party_has_passed) {
  const store::barrier_view view{held_by({{kind::passed, 3, id(2)}, {kind::arrived, 3, id(1)}}), 2};
  EXPECT_TRUE(view.is_complete(3));
  EXPECT_EQ(view.phase_to_join(), 4U);
  EXPECT_TRUE(view.at(3).is_complete());
  EXPECT_EQ(view.at(4).arrived, 0);
}

}  // namespace
}  // namespace holdfast
