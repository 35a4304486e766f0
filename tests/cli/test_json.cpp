// SPDX-License-Identifier: Apache-2.0
// What is in JSON, as functions.

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "output/json.hpp"
#include "why/investigation.hpp"

namespace holdfast::test {
namespace {

TEST(json_of_a_process, has_no_number_for_one_that_is_not_known) {
  EXPECT_EQ(cli::dumped(cli::describe_process({})), R"({"host":"","pid":null,"program":""})");
  EXPECT_EQ(cli::dumped(cli::describe_process({.host = "alpha", .pid = 7, .program = "job", .label = {}})),
            R"({"host":"alpha","pid":7,"program":"job"})");
}

claim_state claim_of(const std::string& owner) {
  claim_state claim;
  claim.owner = owner;
  return claim;
}

lock_state lock_of(const std::string& name, const std::string& holder, const std::string& waiter) {
  lock_state lock;
  lock.name = name;
  lock.holders = {claim_of(holder)};
  lock.waiters = {claim_of(waiter)};
  return lock;
}

TEST(json_of_a_deadlock, has_no_number_for_a_process_that_is_not_known) {
  cli::investigation found;
  found.graph = found.confirmed = std::make_shared<cli::wait_graph>(
      std::vector{lock_of("a", "one", "other"), lock_of("b", "other", "one")});
  for (auto& members : found.confirmed->deadlocks()) found.deadlocks.push_back({std::move(members), nullptr});
  const auto deadlocks = cli::describe_deadlocks(found)["deadlocks"];
  ASSERT_EQ(deadlocks.size(), 1U) << deadlocks;
  ASSERT_EQ(deadlocks[0].size(), 2U) << deadlocks;
  for (const auto& member : deadlocks[0]) EXPECT_TRUE(member.at("pid").is_null()) << member;
}

TEST(json_of_a_list, is_not_made_to_its_end_where_it_is_too_long) {
  using cli::dumped;
  EXPECT_EQ(dumped(std::vector<std::string>{}, 0), "[]");
  EXPECT_EQ(dumped(std::vector<std::string>{"a", "\x1b", "\""}, 100), R"(["a","\u001b","\""])");
  const auto whole = dumped(std::vector<std::string>(5, "12345678"), 56);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->size(), 56U);
  EXPECT_EQ(dumped(std::vector<std::string>(5, "12345678"), 55), std::nullopt);
}

}  // namespace
}  // namespace holdfast::test
