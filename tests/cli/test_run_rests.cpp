// SPDX-License-Identifier: Apache-2.0
// How a lock rests after `run`.

#include <csignal>
#include <gmock/gmock.h>

#include "fixture.hpp"

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class run_rests : public command_test {};

TEST_F(run_rests, at_least_keeps_the_lock_without_a_process) {
  const auto said = holdfast({"run", "job", "--at-least", "1h", "--label", "nightly", "--", "true"});
  EXPECT_EQ(said.status, 0) << said.err;
  const json holders = show("job")["holders"];
  ASSERT_EQ(holders.size(), 1U);
  EXPECT_EQ(holders[0]["label"], "nightly");
  EXPECT_EQ(holders[0]["released"], true);
  EXPECT_GT(holders[0]["expires_in_s"], 3000);
  EXPECT_THAT(holdfast({"show", "job"}).out, HasSubstr(", released"));
  EXPECT_THAT(holdfast({"ls"}).out, HasSubstr(" (nightly), released\n"));
  EXPECT_EQ(parse_lines(holdfast({"ls", "--json"}).out).at(0)["holder"]["released"], true);
  EXPECT_THAT(holdfast({"why", "job"}).out,
              AllOf(HasSubstr("released by holdfast run (true) on "), HasSubstr("; it rests for 59m"),
                    Not(HasSubstr("waits for no lock")), Not(HasSubstr("held by"))));
  const auto late = holdfast({"run", "job", "--wait", "0", "--", "true"});
  EXPECT_EQ(late.status, 75);
  EXPECT_THAT(late.err, HasSubstr("it is taken for "));
  const auto reply = holdfast({"release", "--ask", "job"});
  EXPECT_EQ(reply.status, 1) << reply.out;
  EXPECT_THAT(reply.out, HasSubstr("has released it, and the store keeps it for"));
  const auto in_json = parse_lines(holdfast({"release", "--ask", "job", "--json"}).out).at(0);
  EXPECT_EQ(in_json["released"], true);
  EXPECT_EQ(in_json["asked"], 0);
  const auto token = std::to_string(holders[0]["token"].get<std::uint64_t>());
  const auto by_token = holdfast({"release", "--ask", "job", "--token", token});
  EXPECT_EQ(by_token.status, 1) << by_token.out;
  EXPECT_THAT(by_token.out, HasSubstr("has released it, and the store keeps it for"));
  EXPECT_EQ(holdfast({"release", "--force", "job"}).status, 0);
  EXPECT_EQ(holdfast({"run", "job", "--wait", "0", "--", "true"}).status, 0);
}

TEST_F(run_rests, at_least_passes_on_the_status_and_concerns_each_of_several_names) {
  const auto said = holdfast({"run", "a", "--and", "b", "--at-least", "1h", "--", "sh", "-c", "exit 37"});
  EXPECT_EQ(said.status, 37) << said.err;
  EXPECT_TRUE(held("a"));
  EXPECT_TRUE(held("b"));
}

TEST_F(run_rests, a_release_waits_for_no_grace) {
  EXPECT_EQ(holdfast({"run", "job", "--grace", "1h", "--", "true"}).status, 0);
  EXPECT_FALSE(held("job"));
}

TEST_F(run_rests, a_grace_follows_a_holder_that_was_killed) {
  auto holder = start_holder("job", {"--ttl", "10m", "--grace", "1h"});
  holder->signal(SIGKILL);
  holder->wait();
  // Nobody renews it: this is what the store keeps it for.
  EXPECT_GT(show("job")["holders"][0]["expires_in_s"], 3600) << "the grace begins when the ttl has passed";
  const auto next = holdfast({"run", "job", "--wait", "0", "--", "true"});
  EXPECT_EQ(next.status, 75) << next.err;
}

}  // namespace
}  // namespace holdfast::test
