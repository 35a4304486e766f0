// Two names are one only where their bytes are the same, whatever the database's collation.

#include <gtest/gtest.h>
#include <unordered_set>

#include "routines/postgresql/postgresql_caller.hpp"
#include "routines/similar_names.hpp"
#include "routines/tasks.hpp"
#include "support/amount.hpp"

namespace holdfast {
namespace {

using test::postgresql_console;

constexpr int at_a_time = 20'000;

class postgresql_names : public testing::Test {
 protected:
  /// A database that sorts as people do. Its default cannot be one that takes different texts for equal; what
  /// the columns say of themselves outdoes it either way.
  void SetUp() override {
    if (server.number("SHOW server_version_num") < 150000) GTEST_SKIP() << "databases sort by ICU from 15 on";
    ASSERT_EQ(server.ask("CREATE DATABASE people OWNER holdfast TEMPLATE template0 ENCODING 'UTF8' "
                         "LOCALE_PROVIDER icu ICU_LOCALE 'en-u-ks-level1' LOCALE 'C'"),
              "");
  }
  [[nodiscard]] test::postgresql_caller client() {
    auto s = test::settings_for(server);
    s.connection["dbname"] = "people";
    return test::postgresql_caller{server, s};
  }
  [[nodiscard]] postgresql_console console() const {
    return postgresql_console{"dbname=people user=postgres host='" + server.socket_folder() +
                              "' port=" + std::to_string(server.port())};
  }

  test::postgresql_server server{{.lines = {"max_wal_size = 1GB", "shared_buffers = 64MB"}}};
};

/// All at once through the column that finds them, by which two rows of one name cannot be.
TEST_F(postgresql_names, of_a_million_similar_pairs_have_no_alias) {
  auto real = client();
  ASSERT_EQ(test::number_in(real, "layout"), 2);  // makes the tables
  auto people = console();
  ASSERT_EQ(people.ask("SELECT 'a' < 'B'"), "t");                        // "C" has the capitals first
  ASSERT_EQ(people.ask("ALTER TABLE holdfast_locks SET UNLOGGED"), "");  // quicker, and it is about the index
  ASSERT_EQ(people.ask("CREATE COLLATION loose (PROVIDER = icu, LOCALE = 'und-u-ks-level1', "
                       "DETERMINISTIC = false)"),
            "");
  test::similar_names names{20261122};
  const int pair_count = test::amount(60'000, 1'000'000);
  for (int i = 0; i < pair_count; i += at_a_time) {
    ASSERT_EQ(people.ask("TRUNCATE holdfast_locks"), "");  // all at once would outgrow the server's memory
    std::string lines;
    std::unordered_set<std::string> known;
    for (int j = 0; j < at_a_time; ++j) {
      const auto [one, other] = names.next();
      lines.append(one).append("\n").append(other).append("\n");
      known.insert({one, other});
    }
    lines.pop_back();
    ASSERT_EQ(people.ask("WITH made AS (INSERT INTO holdfast_locks (name, token, granted, oldest, capacity) "
                         "SELECT n, 0, 0, 0, 1 FROM unnest(string_to_array($1, E'\\n')) n "
                         "ON CONFLICT (name) DO NOTHING RETURNING 1) SELECT count(*) FROM made",
                         {lines}),
              std::to_string(known.size()));
    if (i != 0) continue;
    // There would be many, did the column sort as people do.
    const std::string apart = people.ask("SELECT count(DISTINCT name COLLATE loose) FROM holdfast_locks");
    EXPECT_LT(std::stoul(apart), known.size() - at_a_time / 4);
  }
}

TEST_F(postgresql_names, that_are_similar_are_held_by_two) {
  auto real = client();
  test::similar_names names{20261123};
  std::unordered_set<std::string> held;
  const auto acquire = [&](const std::string& name) {
    auto request = test::tasks_about(name).front();
    const auto reply =
        sql::reply_of(request, test::rows_of(real.call(sql::call_of(request, test::id(200)), test::id(200))));
    const auto* place = std::get_if<tickets::place>(&reply);
    return place != nullptr && place->granted;
  };
  for (int i = 0; i < 1000; ++i) {
    const auto [one, other] = names.next();
    EXPECT_EQ(acquire(one), held.insert(one).second) << one;
    EXPECT_EQ(acquire(other), held.insert(other).second) << other << " beside " << one;
  }
}

}  // namespace
}  // namespace holdfast
