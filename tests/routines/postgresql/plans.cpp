// SPDX-License-Identifier: Apache-2.0
// How PostgreSQL carries out each statement within its routines, as the server itself logs it: by the primary
// keys, so that the cost does not grow with the tables, whatever it believes of them.

#include <gmock/gmock.h>
#include <memory>
#include <sstream>

#include "routines/postgresql/postgresql_caller.hpp"
#include "routines/tasks.hpp"
#include "stores/postgresql/protocol/schema.hpp"
#include "stores/sql/protocol/looks.hpp"

namespace holdfast {
namespace {

using test::postgresql_caller;
using test::postgresql_server;
using testing::HasSubstr;
using testing::IsEmpty;

using namespace std::chrono_literals;

constexpr int often_enough = 8;  // from the sixth time on a plan is one for all values

class postgresql_plans : public testing::Test {
 protected:
  /// Twenty thousand names, each of them held; and one with two thousand waiters.
  void fill() {
    done("TRUNCATE holdfast_locks, holdfast_locks_claims");
    done(
        "INSERT INTO holdfast_locks (name, token, granted, oldest, capacity) "
        "SELECT 'name ' || i, i, i, i, 1073741824 FROM generate_series(1, 20000) i");
    done(
        "INSERT INTO holdfast_locks (name, token, granted, oldest, capacity) VALUES ('contended', 22001, "
        "20001, 0, 1073741824)");
    done(
        "INSERT INTO holdfast_locks_claims (name, token, owner, client, weight, ttl, expires, since, "
        "metadata) "
        "SELECT CASE WHEN i <= 20000 THEN 'name ' || i ELSE 'contended' END, i, decode(lpad(to_hex(i), 32, "
        "'0'), "
        "'hex'), decode(repeat('c8', 16), 'hex'), 1073741824, 60000000, 9000000000000000, 0, '' "
        "FROM generate_series(1, 22001) i");
  }
  void done(const std::string& statement) { ASSERT_EQ(server.ask(statement), ""); }

  /// Everything but the sweep, which is about all names.
  void run_all_tasks() {
    for (int round = 0; round < often_enough; ++round) {
      for (const bool idle : {false, true}) {
        const auto listed = std::make_shared<sql::listing>();
        listed->has_counted = idle;
        listed->name = "contended";
        const tickets::list part{false, listed};
        test::rows_of(real.call(sql::call_of(part, test::id(200)), test::id(200)));
      }
      for (const char* name : {"contended", "name 7", "never used before"}) {
        for (const auto& request :
             test::tasks_about(name + (round % 2 == 0 ? std::string{} : std::to_string(round)))) {
          test::rows_of(real.call(sql::call_of(request, test::id(200)), test::id(200)));
          // Of claims that end with a session, here one that is over or has never been.
          test::rows_of(real.call(sql::call_of(request, test::id(201), 30s), test::id(200)));
        }
      }
      for (const tickets::request& request :
           test::joint_tasks({"contended", "free", "name 7", "never used before"})) {
        test::rows_of(real.call(sql::call_of(request, test::id(200)), test::id(200)));
      }
      for (const bool is_held : {false, true}) {
        const sql::poll_question polled{
            test::id(200), {{"contended", 20002}, {"name 7", 7}, {"never used before", 1}}, is_held, {}};
        test::rows_of(real.call(sql::postgresql::poll_of(polled), test::id(200)));
      }
    }
  }

  /// What reads a table of ours from end to end, with the statement that does.
  [[nodiscard]] std::vector<std::string> scans_since(std::size_t begin) const {
    std::istringstream lines{server.log().substr(begin)};
    std::vector<std::string> found;
    std::string statement;
    bool in_statement = false;
    for (std::string line; std::getline(lines, line);) {
      if (const auto text = line.find("Query Text: "); text != std::string::npos) {
        statement = line.substr(text);
        in_statement = true;
      } else if (in_statement && line.find("(cost=") == std::string::npos) {
        statement += line;
      } else {
        in_statement = false;
      }
      if (line.find("Seq Scan on holdfast_locks") == std::string::npos) continue;
      found.push_back(statement + ": " + line);
    }
    return found;
  }

  postgresql_server server{
      {.lines = {"session_preload_libraries = 'auto_explain'", "auto_explain.log_min_duration = 0",
                 "auto_explain.log_nested_statements = on", "autovacuum = off"}}};
  postgresql_caller real{server};
};

/// The log shows plans at all, and of the statements within.
TEST_F(postgresql_plans, are_logged) {
  run_all_tasks();
  EXPECT_THAT(server.log(), HasSubstr("Index Scan using holdfast_locks_pkey on holdfast_locks l"));
  EXPECT_THAT(server.log(),
              HasSubstr("Index Scan using holdfast_locks_claims_pkey on holdfast_locks_claims"));
  const auto before = server.log().size();
  server.ask("SELECT count(*) FROM holdfast_locks WHERE capacity = 7");
  EXPECT_FALSE(scans_since(before).empty());
}

TEST_F(postgresql_plans, go_by_the_primary_keys_with_statistics) {
  run_all_tasks();
  fill();
  done("VACUUM ANALYZE holdfast_locks, holdfast_locks_claims");
  const auto before = server.log().size();
  run_all_tasks();
  EXPECT_THAT(scans_since(before), IsEmpty());
}

TEST_F(postgresql_plans, go_by_the_primary_keys_without_statistics) {
  run_all_tasks();
  fill();
  const auto before = server.log().size();
  run_all_tasks();
  EXPECT_THAT(scans_since(before), IsEmpty());
}

/// The server has looked at tables of a single row, for which a scan is the cheapest, and made its plans:
/// they stay while the tables grow.
TEST_F(postgresql_plans, go_by_the_primary_keys_with_statistics_of_small_tables) {
  ASSERT_EQ(test::number_in(real, "layout"), 2);
  done(
      "INSERT INTO holdfast_locks (name, token, granted, oldest, capacity) VALUES ('one', 1, 1, 1, "
      "1073741824)");
  done(
      "INSERT INTO holdfast_locks_claims (name, token, owner, client, weight, ttl, expires, since, metadata) "
      "VALUES ('one', 1, '', '', 1, 1, 9000000000000000, 0, '')");
  done("VACUUM ANALYZE holdfast_locks, holdfast_locks_claims");
  const auto before = server.log().size();
  run_all_tasks();
  fill();
  run_all_tasks();
  EXPECT_THAT(scans_since(before), IsEmpty());
}

}  // namespace
}  // namespace holdfast
