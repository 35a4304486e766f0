// SPDX-License-Identifier: Apache-2.0
// Much of something, or for long: names, rows that others have locked; and what a database does with its
// tables.

#include "faults/postgresql/on_postgresql.hpp"

namespace holdfast::faults {
namespace {

class postgresql_load : public on_postgresql {
 protected:
  explicit postgresql_load(std::vector<std::string> lines = {})
      : on_postgresql{{.lines = std::move(lines)}} {}

  void make_tables() {
    client owner{server_.url()};
    EXPECT_FALSE(mutex(owner, "stock").acquire().release());
  }
  /// Names that nobody uses, last used so many days ago.
  void add_idle(int count, int days, const std::string& prefix) {
    EXPECT_EQ(server_.ask(
                  "INSERT INTO holdfast_locks (name, token, granted, oldest, capacity) SELECT $1 || "
                  "lpad(i::text, 6, '0'), holdfast_locks_now() - $2::bigint * 86400000000, 0, 0, 1073741824 "
                  "FROM generate_series(1, $3::int) i",
                  {prefix, std::to_string(days), std::to_string(count)}),
              "");
  }
  /// One step of a sweep, as clients ask for it. \return whether there is more.
  bool sweep() {
    return server_.number("SELECT holdfast_locks_sweep(30 * 86400000000, 3600000000, 256)") == 1;
  }
  std::int64_t names() { return server_.number("SELECT count(*) FROM holdfast_locks"); }
};

TEST_F(postgresql_load, of_idle_names_is_walked_over_in_steps) {
  make_tables();
  add_idle(2000, 1, "young ");
  add_idle(10, 40, "old ");
  EXPECT_EQ(server_.ask("UPDATE holdfast_locks_sweeps SET swept = 0, walked = ''"), "");
  int steps = 1;
  while (sweep()) ++steps;
  EXPECT_GE(steps, 8) << "a step is about more names than it was to be";
  EXPECT_EQ(names(), 2000 + 1);
  EXPECT_FALSE(sweep()) << "not again so soon";
  EXPECT_EQ(server_.ask("SELECT walked FROM holdfast_locks_sweeps"), "");
}

// Nobody else has to be there when it goes on: somebody does where another has left off.
TEST_F(postgresql_load, of_idle_names_is_swept_by_one_client_after_the_other) {
  make_tables();
  add_idle(1000, 1, "a ");
  add_idle(10, 40, "b ");
  EXPECT_EQ(server_.ask("UPDATE holdfast_locks_sweeps SET swept = 0, walked = ''"), "");
  for (int turn = 0; turn < 6 && names() > 1001; ++turn) {
    client each{server_.url()};
    EXPECT_FALSE(mutex(each, "stock").acquire().release());  // its first write, with a step
  }
  await([&] { return names() == 1001; }, "each begins anew");
}

TEST_F(postgresql_load, of_a_publication_of_all_tables_is_swept) {
  make_tables();
  add_idle(10, 40, "old ");
  EXPECT_EQ(server_.ask("CREATE PUBLICATION everything FOR ALL TABLES"), "");
  EXPECT_EQ(server_.ask("UPDATE holdfast_locks_sweeps SET swept = 0, walked = ''"), "");
  while (sweep()) {
  }
  EXPECT_EQ(names(), 1);
}

class postgresql_pages : public postgresql_load {
 protected:
  postgresql_pages() : postgresql_load{{"track_functions = 'pl'"}} {}
};

TEST_F(postgresql_pages, of_a_listing_come_one_after_another) {
  make_tables();
  add_idle(1700, 1, "idle ");
  client locks{server_.url()};
  auto held = mutex{locks, "held"}.acquire();
  const auto all = locks.list(true);
  ASSERT_EQ(all.size(), 1702U);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(),
                             [](const lock_summary& a, const lock_summary& b) { return a.name < b.name; }));
  const auto used = locks.list();
  ASSERT_EQ(used.size(), 1U);
  EXPECT_EQ(used[0].name, "held");
  EXPECT_EQ(used[0].holders, 1U);
  EXPECT_EQ(used[0].holder_token, held.token());
  await(
      [&] {
        return server_.number(
                   "SELECT coalesce(sum(calls), 0) FROM pg_stat_user_functions WHERE funcname = "
                   "'holdfast_locks_list_part'") >= 1700 / 64;
      },
      "it is listed all at once");
}

}  // namespace
}  // namespace holdfast::faults
