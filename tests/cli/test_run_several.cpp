// SPDX-License-Identifier: Apache-2.0
// `run` with --and: several names at once.

#include <algorithm>
#include <gmock/gmock.h>

#include "fixture.hpp"

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class run_several : public command_test {
 protected:
  /// The number of holders of a lock.
  std::size_t holders(const std::string& name) { return show(name)["holders"].size(); }
  void serve_guests(int count);
};

TEST_F(run_several, holds_all_names_while_the_command_runs) {
  const auto said = holdfast({"run", "b", "--and", "a", "--and-shared", "c", "--", "sh", "-c",
                              "env | grep ^HOLDFAST_ >&2; " HOLDFAST_COMMAND " ls --json"});
  EXPECT_EQ(said.status, 0) << said.err;
  const auto locks = parse_lines(said.out);
  ASSERT_EQ(locks.size(), 3U);
  const auto token = [&](std::size_t place) {
    return std::to_string(locks[place]["holder_token"].get<std::uint64_t>());
  };
  EXPECT_EQ(locks[2]["mode"], "shared");
  EXPECT_THAT(said.err,
              AllOf(HasSubstr("HOLDFAST_NAME=b\n"), HasSubstr("HOLDFAST_TOKEN=" + token(1) + '\n'),
                    HasSubstr("HOLDFAST_NAME_2=a\n"), HasSubstr("HOLDFAST_TOKEN_2=" + token(0) + '\n'),
                    HasSubstr("HOLDFAST_NAME_3=c\n"), HasSubstr("HOLDFAST_TOKEN_3=" + token(2) + '\n')));
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(holders(name), 0U) << name;
}

TEST_F(run_several, names_who_is_in_the_way_and_keeps_nothing) {
  const auto other = start_holder("a");
  const auto said = holdfast({"run", "b", "--and", "a", "--wait", "0", "--", "true"});
  EXPECT_EQ(said.status, 75);
  EXPECT_THAT(said.err, AllOf(HasSubstr("the locks 'b' and 'a' were not free: 'a' is held by"),
                              Not(HasSubstr("--wait"))));
  EXPECT_EQ(holders("b"), 0U);
  const auto late = holdfast({"run", "b", "--and", "a", "--wait", "1s", "--", "true"});
  EXPECT_THAT(late.err, HasSubstr("were not free within 1s: 'a' is held by"));
}

// Readers of a name that is wanted as a reader are in nobody's way.
TEST_F(run_several, names_the_lock_that_keeps_it_waiting_and_not_one_that_is_shared) {
  const auto reader = start_holder("r", {"--shared"});
  const auto other = start_holder("x");
  const auto said = holdfast({"run", "r", "--shared", "--and", "x", "--wait", "0", "--", "true"});
  EXPECT_EQ(said.status, 75);
  EXPECT_THAT(said.err, HasSubstr("'x' is held by"));
}

TEST_F(run_several, keeps_variables_that_are_not_its_own) {
  const auto said =
      holdfast({"run", "a", "--", "env"},
               {{"HOLDFAST_STORE=" + store(), "HOLDFAST_TOKEN_FILE=kept", "HOLDFAST_TOKEN_7=old"}, {}});
  EXPECT_EQ(said.status, 0) << said.err;
  EXPECT_THAT(said.out, AllOf(HasSubstr("HOLDFAST_TOKEN_FILE=kept\n"), Not(HasSubstr("HOLDFAST_TOKEN_7"))));
}

TEST_F(run_several, gives_a_nested_run_the_names_of_its_own_alone) {
  const auto said = holdfast({"run", "a", "--and", "b", "--", HOLDFAST_COMMAND, "run", "c", "--", "env"});
  EXPECT_EQ(said.status, 0) << said.err;
  EXPECT_THAT(said.out, AllOf(HasSubstr("HOLDFAST_NAME=c\n"), Not(HasSubstr("HOLDFAST_NAME_2")),
                              Not(HasSubstr("HOLDFAST_TOKEN_2"))));
}

TEST_F(run_several, ends_the_command_when_one_is_lost) {
  const auto said = holdfast({"run", "a", "--and", "b", "--ttl", "30s", "--json", "--", "sh", "-c",
                              HOLDFAST_COMMAND " release b --force; sleep 60"});
  EXPECT_EQ(said.status, 76);
  const auto report = parse_lines(said.err).at(0);
  EXPECT_EQ(report["lost"], true);
  EXPECT_EQ(report["reason"], "ended_at_store");
  EXPECT_EQ(report["lost_name"], "b");
  EXPECT_EQ(report["others"][0]["name"], "b");
  const auto text = holdfast({"run", "a", "--and", "b", "--ttl", "30s", "--", "sh", "-c",
                              HOLDFAST_COMMAND " release b --force; sleep 60"});
  EXPECT_THAT(text.err, HasSubstr("the lock 'b' (token "));
}

// Dijkstra's philosophers: processes that each want two neighbouring names of five, each three times. A
// folder for each name, made and removed under the locks, shows two that hold the same one.
void run_several::serve_guests(int count) {
  const auto said = holdfast(
      {"run", "table", "--", "sh", "-c",
       "cd " + file("") + " && mkdir plates && for guest in $(seq " + std::to_string(count) + R"(); do (
        left=$((guest % 5)) right=$(((guest + 1) % 5))
        for meal in 1 2 3; do
          )" HOLDFAST_COMMAND R"( run -q fork-$left --and fork-$right -- sh -c \
            "mkdir plates/$left plates/$right && echo eaten && rmdir plates/$left plates/$right"
        done) & done; wait)"});
  EXPECT_EQ(said.status, 0) << said.err;
  EXPECT_EQ(said.err.find("mkdir"), std::string::npos) << said.err;
  EXPECT_EQ(std::count(said.out.begin(), said.out.end(), '\n'), 3 * count) << said.err;
}

TEST_F(run_several, serves_ten_processes_that_share_five_names) { serve_guests(10); }

// Of scripts/hunt.
TEST_F(run_several, serves_fifty_processes_that_share_five_names) { serve_guests(50); }

TEST_F(run_several, refuses_a_name_that_comes_twice) {
  const auto said = holdfast({"run", "a", "--and", "b", "--and", "a", "--", "true"});
  EXPECT_EQ(said.status, 64);
  EXPECT_THAT(said.err, HasSubstr("--and: the name 'a' is given twice"));
  EXPECT_EQ(holdfast({"run", "a", "--and", "", "--", "true"}).status, 64);
}

}  // namespace
}  // namespace holdfast::test
