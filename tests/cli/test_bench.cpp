// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <gmock/gmock.h>

#include "fixture.hpp"

namespace holdfast::test {
namespace {

using testing::HasSubstr;

class bench : public command_test {
 protected:
  json measure(strings arguments) {
    arguments.insert(arguments.begin(), "bench");
    arguments.push_back("--json");
    const auto said = holdfast(arguments, {{"TMPDIR=" + file("tmp")}, ""});
    EXPECT_EQ(said.status, 0) << said.err;
    const auto lines = parse_lines(said.out);
    EXPECT_EQ(lines.size(), 1U);
    EXPECT_TRUE(std::filesystem::is_empty(file("tmp"))) << "something was left behind";
    return lines.empty() ? json{} : lines.front();
  }

  void SetUp() override { std::filesystem::create_directory(file("tmp")); }
};

TEST_F(bench, measures_as_often_as_it_is_asked) {
  struct row {
    strings arguments;
    json figures;
  };
  for (const auto& [arguments, figures] : {
           row{{"pair", "--count", "50"}, {{"scenario", "pair"}, {"count", 50}}},
           // Shared among the threads, not for each:
           row{{"pair", "--count", "200", "--concurrency", "4"}, {{"count", 200}, {"concurrency", 4}}},
           row{{"pair", "--count", "50", "--names", "8"}, {{"count", 50}, {"names", 8}}},
           row{{"term", "--count", "50", "--concurrency", "2"}, {{"scenario", "term"}, {"count", 50}}},
           row{{"spread", "--count", "100", "--concurrency", "16"}, {{"count", 100}}},
       }) {
    SCOPED_TRACE(testing::PrintToString(arguments));
    auto measured = measure(arguments);
    for (const auto& [name, value] : figures.items()) EXPECT_EQ(measured[name], value) << name;
    EXPECT_GT(measured["per_s"], 0);
    if (arguments.front() == "spread") continue;  // it does not measure one by one
    EXPECT_GT(measured["p50_us"], 0);
    EXPECT_GE(measured["p90_us"], measured["p50_us"]);
    EXPECT_GE(measured["p99_us"], measured["p90_us"]);
    EXPECT_GE(measured["p999_us"], measured["p99_us"]);
  }
}

TEST_F(bench, handoff) {
  const auto measured = measure({"handoff", "--processes", "2", "--concurrency", "2", "--count", "2000"});
  EXPECT_GE(measured["grants"], 2000);
  EXPECT_GT(measured["handovers"], 0);
  EXPECT_GT(measured["p50_us"], 0);
  EXPECT_GE(measured["max_wait_ratio"], 1);
  EXPECT_LE(measured["grants_min"], measured["grants_max"]);
}

TEST_F(bench, idle) {
  const auto measured = measure({"idle", "--count", "20", "--duration", "200ms"});
  EXPECT_EQ(measured["count"], 20);
  EXPECT_GE(measured["cpu_percent"], 0);
}

TEST_F(bench, held) {
  const auto measured = measure({"held", "--count", "50", "--ttl", "18s", "--duration", "100ms"});
  EXPECT_EQ(measured["lost"], 0);
  EXPECT_GE(measured["duration_s"], 6) << "at least one round of renewals";
  EXPECT_TRUE(measured.contains("bytes_per_lease"));
}

TEST_F(bench, measures_the_store_it_is_given_and_prints_a_table) {
  const auto said = holdfast({"bench", "pair", "--count", "10", "--store", store()});
  EXPECT_EQ(said.status, 0) << said.err;
  EXPECT_THAT(said.out, HasSubstr("pair on " + store()));
  EXPECT_THAT(said.out, HasSubstr("p99_us"));
  EXPECT_EQ(said.err, "");
  EXPECT_EQ(measure({"pair", "--count", "10", "--store", "memory:"})["store"], "memory:");
}

}  // namespace
}  // namespace holdfast::test
