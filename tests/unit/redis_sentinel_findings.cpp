// What `holdfast doctor` concludes from what Sentinels say, where no test can make real ones say it.

#include <gmock/gmock.h>
#include <string>
#include <vector>

#include "stores/redis/protocol/sentinel_findings.hpp"
#include "unit/findings.hpp"

namespace holdfast::redis {
namespace {

using grade = finding::grade;
using testing::HasSubstr;

/// Of Sentinels that all know each other.
std::vector<sentinel_facts> in_order(std::size_t count) {
  std::vector<sentinel_facts> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    all[i].place = "s" + std::to_string(i) + ":26379";
    all[i].primary = server_address{"db-1", "6379"};
    all[i].id = std::to_string(i);
    all[i].quorum = 2;
    for (std::size_t other = 0; other < count; ++other)
      if (other != i) all[i].others.push_back({std::to_string(other), false});
  }
  return all;
}

finding only(const std::vector<sentinel_facts>& all) {
  return test::only_broken(findings_of(all, "main", "lookup"));
}

TEST(redis_sentinel_findings, are_all_kept_of_three_or_five_in_order) {
  for (const std::size_t count : {3U, 5U})
    for (const finding& each : findings_of(in_order(count), "main", "lookup"))
      EXPECT_EQ(each.result, grade::kept) << each.observed;
}

TEST(redis_sentinel_findings, tell_of_a_number_that_survives_no_failure_or_no_more_than_one_less) {
  for (const std::size_t count : {1U, 2U, 4U}) {
    EXPECT_EQ(only(in_order(count)).condition, "size") << count;
    EXPECT_EQ(only(in_order(count)).result, grade::warning) << count;
  }
  EXPECT_THAT(only(in_order(4)).meaning, HasSubstr("with one less: 1"));
}

TEST(redis_sentinel_findings, take_a_check_that_is_refused_for_unknown) {
  auto all = in_order(3);
  for (sentinel_facts& each : all) each.check_refusal = "NOPERM this user has no permissions";
  EXPECT_EQ(only(all).condition, "quorum");
  EXPECT_EQ(only(all).result, grade::unknown);
  EXPECT_THAT(only(all).remedy, HasSubstr("ACL SETUSER lookup +sentinel|ckquorum"));
  all[0].check_refusal.clear();
  for (const finding& each : findings_of(all, "main", "lookup"))
    EXPECT_EQ(each.result, grade::kept) << "one that tells is enough: " << each.observed;
}

TEST(redis_sentinel_findings, warn_of_one_that_reaches_too_few_others) {
  auto all = in_order(3);
  all[2].check_problem = "NOQUORUM 1 usable Sentinels";
  EXPECT_EQ(only(all).condition, "quorum");
  EXPECT_EQ(only(all).result, grade::warning) << "the other two decide";
  EXPECT_THAT(only(all).observed, HasSubstr("s2:26379 says: NOQUORUM"));
  for (sentinel_facts& each : all) each.check_problem = "NOQUORUM 1 usable Sentinels";
  EXPECT_EQ(only(all).result, grade::broken);
}

TEST(redis_sentinel_findings, call_two_primaries_broken_whatever_the_majority) {
  auto all = in_order(3);
  all[1].primary = server_address{"db-2", "6379"};
  EXPECT_EQ(only(all).condition, "primary");
  EXPECT_EQ(only(all).result, grade::broken);
  EXPECT_THAT(only(all).remedy,
              HasSubstr("at s1:26379: SENTINEL REMOVE main; SENTINEL MONITOR main db-1 6379 2;"));
  for (sentinel_facts& each : all) each.primary.reset();
  std::size_t broken = 0;
  for (const finding& each : findings_of(all, "main", "lookup"))
    broken += each.result == grade::broken ? 1 : 0;
  EXPECT_EQ(broken, 1U) << "no Sentinel names a primary";
  EXPECT_EQ(named_by_most(all), std::nullopt);
}

value text(std::string of) { return {value::kind::text, 0, std::move(of), {}}; }
value error(std::string of) { return {value::kind::error, 0, std::move(of), {}}; }
value list(std::vector<value> of) { return {value::kind::list, 0, {}, std::move(of)}; }

TEST(redis_sentinel_findings, read_what_sentinels_answer_and_survive_what_is_no_answer) {
  sentinel_facts one;
  one.hear(list({list({text("runid"), text("b"), text("flags"), text("sentinel")}),
                 list({text("flags"), text("s_down,sentinel"), text("runid")}), text("nonsense")}),
           error("NOQUORUM 1 usable Sentinels."), list({text("quorum"), text("2")}), text("a"));
  ASSERT_EQ(one.others.size(), 3U);
  EXPECT_EQ(one.others[0].id, "b");
  EXPECT_FALSE(one.others[0].is_down);
  EXPECT_TRUE(one.others[1].is_down);
  EXPECT_EQ(one.quorum, 2);
  EXPECT_EQ(one.id, "a");
  EXPECT_THAT(one.check_problem, HasSubstr("NOQUORUM"));
  EXPECT_TRUE(one.check_refusal.empty());

  sentinel_facts refused;
  refused.hear(error("NOPERM a"), error("NOPERM b"), error("NOPERM c"), error("ERR Unknown subcommand"));
  EXPECT_EQ(refused.check_refusal, "NOPERM a");
  EXPECT_EQ(refused.id, "");
  sentinel_facts unchecked;
  unchecked.hear(list({}), error("NOPERM b"), {}, {});
  EXPECT_EQ(unchecked.check_refusal, "NOPERM b");
  EXPECT_TRUE(unchecked.check_problem.empty());
}

}  // namespace
}  // namespace holdfast::redis
