// What `holdfast doctor` concludes from what a MariaDB server says, where no test can make a real one say it.

#include <algorithm>
#include <gtest/gtest.h>
#include <string>

#include "stores/mariadb/protocol/own_grants.hpp"

namespace holdfast::sql::mariadb {
namespace {

const naming names{"lo_cks", "own", '`'};

std::string excess(std::string_view line, bool is_maker = false) {
  const auto found = excess_in(line, names, is_maker, "worker@%");
  if (!found) return {};
  EXPECT_EQ(found->account, "worker@%");
  return found->rights + " ON " + found->object + (found->of_columns ? " of columns" : "");
}

TEST(mariadb_findings, read_grants_that_write) {
  EXPECT_EQ(
      excess("GRANT ALL PRIVILEGES ON *.* TO `worker`@`%` IDENTIFIED BY PASSWORD '*14E6' WITH GRANT OPTION"),
      "ALL PRIVILEGES ON *.*");
  EXPECT_EQ(excess("GRANT SELECT, INSERT, CREATE ROUTINE ON `lo\\_cks`.* TO `worker`@`%`"),
            "INSERT, CREATE ROUTINE ON `lo\\_cks`.*");
  EXPECT_EQ(excess("GRANT INSERT (`a`, `b ON c`), SELECT (`a`) ON `lo_cks`.`own_claims` TO `worker`@`%`"),
            "INSERT ON `lo_cks`.`own_claims` of columns");
  for (const char* pattern : {"lo%", "%", "lo_cks", "l%s", "%_cks%", "__\\_cks"})
    EXPECT_NE(excess(std::string{"GRANT DELETE ON `"} + pattern + "`.* TO `worker`@`%`"), "") << pattern;
}

TEST(mariadb_findings, read_no_grant_that_does_not_reach_the_store) {
  for (const char* line :
       {"", "GRANT", "GRANT `role` TO `worker`@`%`", "GRANT USAGE ON *.* TO `worker`@`%`",
        "GRANT PROCESS, SELECT, EXECUTE ON *.* TO `worker`@`%`",
        "GRANT INSERT ON `lo_cks`.`other` TO `worker`@`%`", "GRANT INSERT ON `lo_cks2`.* TO `worker`@`%`",
        "GRANT INSERT ON `` TO `worker`@`%`",
        "GRANT ALTER ROUTINE ON PROCEDURE `lo_cks`.`own_find` TO `worker`@`%`"})
    EXPECT_EQ(excess(line), "") << line;
  for (const char* pattern : {"lo%x", "lo\\%", "l", "lo_ck", "_lo_cks", ""})
    EXPECT_EQ(excess(std::string{"GRANT DELETE ON `"} + pattern + "`.* TO `worker`@`%`"), "") << pattern;
}

TEST(mariadb_findings, let_the_maker_of_procedures_write_its_database_alone) {
  EXPECT_EQ(excess("GRANT ALL PRIVILEGES ON `lo_cks`.* TO `worker`@`%`", true), "");
  EXPECT_EQ(excess("GRANT UPDATE ON *.* TO `worker`@`%`", true), "UPDATE ON *.*");
}

TEST(mariadb_findings, warn_of_a_cluster_whose_nodes_have_clocks_of_their_own) {
  server_facts facts;
  facts.said = {{"wsrep_cluster_size", "3"}, {"read_only", "0"}, {"flush", "1"}};
  const auto of = [&] {
    const auto all = findings_of(facts, {names});
    const auto found = std::ranges::find(all, "cluster", &finding::condition);
    return found == all.end() ? finding{} : *found;
  };
  EXPECT_EQ(of().result, finding::grade::warning);
  EXPECT_EQ(of().observed, "it is one of 3 nodes of a Galera cluster");
  facts.said["wsrep_cluster_size"] = "0";
  EXPECT_EQ(of(), finding{});
}

}  // namespace
}  // namespace holdfast::sql::mariadb
