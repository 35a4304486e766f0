// SPDX-License-Identifier: Apache-2.0
// Who is at one name keeps nobody from another: a transaction that stands still in the middle locks a row,
// and no table.

#include <gmock/gmock.h>
#include <sstream>

#include "routines/postgresql/postgresql_caller.hpp"
#include "routines/tasks.hpp"
#include "stores/postgresql/protocol/schema.hpp"

namespace holdfast {
namespace {

using test::postgresql_console;
using testing::StartsWith;

class postgresql_rows : public testing::Test {
 protected:
  postgresql_rows() { EXPECT_EQ(test::number_in(real, "layout"), 2); }  // makes the tables

  /// A request as a statement of a person's.
  struct statement {
    std::string text;
    std::vector<std::string> values;
  };
  [[nodiscard]] static statement statement_of(const tickets::request& request) {
    const sql::call call = sql::call_of(request, test::id(100));
    statement s{sql::postgresql::statement_of(call, sql::naming{"", "holdfast_locks", '"'}), {}};
    for (const sql::parameter& p : call.in) s.values.push_back(text_of(p));
    return s;
  }
  static std::string text_of(const sql::parameter& p) {
    switch (p.type) {
      case sql::parameter::kind::number: return std::to_string(p.number);
      case sql::parameter::kind::flag: return p.number != 0 ? "t" : "f";
      case sql::parameter::kind::text: return p.text;
      case sql::parameter::kind::bytes:
      case sql::parameter::kind::list: break;
    }
    constexpr std::string_view digits = "0123456789abcdef";
    std::string hex = "\\x";
    for (const char c : p.text) {
      const auto byte = static_cast<unsigned char>(c);
      hex.append({digits[byte / 16], digits[byte % 16]});
    }
    return hex;
  }
  /// In a transaction that stays open.
  static void ask_all(postgresql_console& of, const std::string& name) {
    ASSERT_EQ(of.ask("BEGIN"), "");
    for (const auto& request : test::tasks_about(name)) {
      const statement s = statement_of(request);
      ASSERT_THAT(of.ask(s.text, s.values), testing::Not(StartsWith("-"))) << s.text;
    }
  }

  test::postgresql_server server;
  test::postgresql_caller real{server};
};

TEST_F(postgresql_rows, of_other_names_are_free_meanwhile) {
  const auto slow = server.console("holdfast");
  ask_all(*slow, "stuck");
  for (int i = 0; i < 20; ++i) {
    for (const auto& request : test::tasks_about("other " + std::to_string(i))) {
      // A row that somebody has keeps the caller waiting, until it takes the server for gone.
      test::rows_of(real.call(sql::call_of(request, test::id(200)), test::id(200)));
    }
  }
  EXPECT_EQ(slow->ask("COMMIT"), "");
}

TEST_F(postgresql_rows, of_one_name_are_had_one_after_another) {
  const auto slow = server.console("holdfast");
  const auto next = server.console("holdfast");
  ask_all(*slow, "stuck");
  const statement s = statement_of(test::tasks_about("stuck").front());
  next->tell(s.text, s.values);
  const std::string waits =
      "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = " + std::to_string(next->backend());
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{60};
  while (server.number(waits) == 0 && std::chrono::steady_clock::now() < deadline) {
  }
  EXPECT_EQ(server.number(waits), 1);
  EXPECT_EQ(slow->ask("COMMIT"), "");
  EXPECT_THAT(next->answer(), StartsWith("0|"));  // a place
}

TEST_F(postgresql_rows, are_all_that_is_locked) {
  const auto slow = server.console("holdfast");
  ask_all(*slow, "stuck");
  const std::string modes =
      server.ask("SELECT DISTINCT mode FROM pg_locks WHERE locktype = 'relation' AND pid = $1",
                 {std::to_string(slow->backend())});
  std::istringstream each{modes};
  int count = 0;
  for (std::string mode; std::getline(each, mode); ++count) {
    EXPECT_THAT(mode, testing::AnyOf("AccessShareLock", "RowShareLock", "RowExclusiveLock"));
  }
  EXPECT_GT(count, 1);
  EXPECT_EQ(slow->ask("ROLLBACK"), "");
}

}  // namespace
}  // namespace holdfast
