// SPDX-License-Identifier: Apache-2.0
// Each task goes by the primary key, and takes no lock but its own name's.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "routines/mariadb/procedure_fixture.hpp"

namespace holdfast::test {
namespace {

/// Names with a holder and a waiter each, and one with a long queue, in a table that the optimizer may take
/// for small or large.
class rows_alone : public testing::TestWithParam<int> {
 protected:
  rows_alone() {
    at.ask("INSERT INTO {locks} SELECT concat('n', seq), 2, 1, 1, 1073741824 FROM seq_1_to_" + count);
    for (const char* place : {"1", "2"}) {
      at.ask("INSERT INTO {claims} SELECT concat('n', seq), " + std::string{place} +
             ", repeat('o', 16), repeat('c', 16), 1073741824, 60000000, 4000000000000000, 1, '{}' FROM "
             "seq_1_to_" +
             count);
    }
    at.ask("INSERT INTO {locks} VALUES ('queue', 2000, 1, 1, 1073741824)");
    at.ask(
        "INSERT INTO {claims} SELECT 'queue', seq, repeat('o', 16), repeat('c', 16), 1073741824, 60000000, "
        "4000000000000000, 1, '{}' FROM seq_1_to_2000");
  }

  /// Every task once, on one name, with what each finds there to do.
  std::vector<std::pair<std::string, std::string>> tasks() {
    const std::string name = procedure_fixture::literal("stock");
    const std::string ttl = ", 60000000";
    std::vector<std::pair<std::string, std::string>> all;
    const auto first = at.acquire("stock", 1).at(1);
    const auto second = at.acquire("stock", 2).at(1);
    const auto reader = at.acquire("stock", 3, "TRUE", 1).at(1);
    at.acquire("stock", 4, "TRUE", 1);
    const auto owner = [&](int number) { return ", " + procedure_fixture::id(number); };
    const std::string claim = ", " + procedure_fixture::id(200) + ", 1, 1073741824, 60000000, '{}', TRUE";
    const std::string hold = "concat(unhex('0005'), " + name + owner(1) + ", unhex(lpad(hex(" + first +
                             "), 16, '0')), unhex('0000000003938700'))";
    all.emplace_back("acquire", name + owner(5) + claim);
    all.emplace_back("acquire", procedure_fixture::literal("new") + owner(6) + claim);
    const std::string packed_name = "concat(unhex('00000005'), " + name + ")";
    all.emplace_back("acquire_all", packed_name + owner(10) + ", " + procedure_fixture::id(200) +
                                        ", unhex('0000000000000001'), unhex('0000000040000000'), "
                                        "unhex('0000000003938700'), unhex('000000027B7D')");
    all.emplace_back("release_all", packed_name + owner(4) + ", unhex('0000000000000001')");
    all.emplace_back("find", name + owner(2));
    all.emplace_back("look", name + owner(2) + ", " + second + ttl);
    all.emplace_back("renew", hold);
    all.emplace_back("downgrade", name + owner(1) + ", " + first + ", 1");
    all.emplace_back("release", name + owner(1) + ", " + first);
    all.emplace_back("withdraw", name + owner(2));
    all.emplace_back("evict", name + ", 0, 9223372036854775807");
    all.emplace_back("look", name + owner(3) + ", " + reader + ttl);
    all.emplace_back("inspect_part", name + ", 0, 9223372036854775807, 4");
    all.emplace_back("inspect_part", "'queue', 1000, 9223372036854775807, 4");
    all.emplace_back("list_part", "FALSE, 'queue', 1000, 4, 4");
    all.emplace_back("list_part", "FALSE, 'n1', 1, 4, 4");
    all.emplace_back("list_part", "TRUE, 'n1', 0, 4, 4");
    // Claims that end with sessions, which are over: each task finds the former one's.
    const std::string forever = ", 4611686018487387904";
    const std::string brief =
        ", " + procedure_fixture::id(201) + ", 1, 1073741824" + forever + ", '{}', TRUE";
    for (int each = 7; each <= 9; ++each) all.emplace_back("acquire", name + owner(each) + brief);
    all.emplace_back("look", name + owner(7) + ", 1" + forever);
    all.emplace_back("find", name + owner(7));
    all.emplace_back("withdraw", name + owner(8));
    all.emplace_back("vacate", name + ", " + procedure_fixture::id(201));
    all.emplace_back("listen", procedure_fixture::id(200) + ", '', 0");
    return all;
  }

  /// How many rows the session has read by going over a table, and how many by going along an index.
  struct reads {
    std::int64_t scanned = 0;
    std::int64_t along = 0;
  };
  reads reads_so_far() {
    reads r;
    for (const auto& row : at.console().ask("SHOW SESSION STATUS LIKE 'Handler_read_%'")) {
      if (row.at(0) == "Handler_read_rnd_next") r.scanned = std::stoll(row.at(1));
      if (row.at(0) == "Handler_read_next" || row.at(0) == "Handler_read_prev")
        r.along += std::stoll(row.at(1));
    }
    return r;
  }

  procedure_fixture at;
  const std::string count = std::to_string(GetParam());
};

TEST_P(rows_alone, are_all_that_a_task_reads) {
  reads_so_far();
  const reads once = reads_so_far();
  const auto asking = reads_so_far().scanned - once.scanned;  // what the question itself costs
  for (const auto& [routine, arguments] : tasks()) {
    const reads before = reads_so_far();
    at.call(routine, arguments);
    const reads after = reads_so_far();
    const int scanned = routine == "list_part" ? 20 : 0;  // what is counted is a table of its own
    EXPECT_LE(after.scanned - before.scanned - asking, scanned) << routine;
    EXPECT_LE(after.along - before.along, 40) << routine;  // several times over this name's few claims
  }
}

TEST_P(rows_alone, are_all_that_a_task_locks) {
  const auto others = at.connect();
  others->ask("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
  others->ask("START TRANSACTION");
  others->ask(at.names().fill("SELECT * FROM {locks} WHERE name < 'o' AND name <> 'new' FOR UPDATE"));
  others->ask(at.names().fill("SELECT * FROM {claims} WHERE name < 'o' AND name <> 'new' FOR UPDATE"));
  for (const auto& [routine, arguments] : tasks()) {
    EXPECT_NO_THROW(at.call(routine, arguments)) << routine;  // a lock wait ends in an error within seconds
  }
  others->ask("ROLLBACK");
}

INSTANTIATE_TEST_SUITE_P(of_a_table, rows_alone, testing::Values(1, 20'000),
                         [](const auto& of) { return "of_" + std::to_string(of.param); });

}  // namespace
}  // namespace holdfast::test
