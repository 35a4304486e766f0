// SPDX-License-Identifier: Apache-2.0
// Tables and routines that others have made, changed or removed.

#include <sstream>

#include "faults/servers/servers.hpp"

namespace holdfast::faults {
namespace {

using testing::HasSubstr;

class database_tables : public on_each_database {
 protected:
  [[nodiscard]] failing try_to_lock(const std::string& options = {}) const {
    return failure_of([&] {
      client locks{url(options)};
      mutex{locks, "stock"}.lock();
    });
  }
  /// Of everything whose name begins as ours do.
  std::string columns() {
    return server_->ask(
        "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_name LIKE "
        "'holdfast%' ORDER BY 1, 2");
  }
  std::int64_t routines(const std::string& like = "holdfast%") {
    return server_->number("SELECT count(*) FROM information_schema.routines WHERE routine_name LIKE '" +
                           like + "'");
  }
  std::vector<std::string> tables() {
    std::istringstream lines{
        server_->ask("SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'holdfast%'")};
    std::vector<std::string> names;
    for (std::string line; std::getline(lines, line);) names.push_back(line);
    return names;
  }
  std::string all_tables() {
    std::string text;
    for (const auto& name : tables()) text += (text.empty() ? "" : ", ") + name;
    return text;
  }
  /// A sweep takes them in another order, and may be what a deadlock leaves.
  void drop(const std::string& names) {
    std::string dropped = "-40P01";
    while (dropped.starts_with("-40P01")) dropped = server_->ask("DROP TABLE " + names);
    EXPECT_EQ(dropped, "");
  }
};

TEST_P(database_tables, of_others_under_any_of_our_names_are_left_alone) {
  struct relation {
    std::string kind;
    std::string name;
    std::string shape;
  };
  for (const auto& [kind, name, shape] : {
           relation{"TABLE", "holdfast_locks", " (name text, price int)"},
           relation{"TABLE", "holdfast_locks_claims", " (name text, token bigint)"},
           relation{"TABLE", "holdfast_locks_sweeps", " (swept timestamp, who text)"},
           relation{"VIEW", "holdfast_locks", " AS SELECT 1 AS name"},
           relation{"SEQUENCE", "holdfast_locks", ""},
       }) {
    SCOPED_TRACE(kind + ' ' + name);
    server_->execute("CREATE " + kind + ' ' + name + shape);
    const auto before = columns();
    for (const std::string options : {"", "?create=0"}) {
      const auto refused = try_to_lock(options);
      EXPECT_EQ(refused.code, errc::foreign_store) << refused.text;
      EXPECT_THAT(refused.text, testing::AllOf(HasSubstr("holdfast_locks"), HasSubstr("table=")));
    }
    EXPECT_EQ(columns(), before);
    EXPECT_EQ(routines(), 0);
    server_->execute("DROP " + kind + ' ' + name);
  }
  EXPECT_EQ(try_to_lock("?table=other").text, "it did not fail");
}

TEST_P(database_tables, changed_under_a_client_are_told) {
  client locks{url()};
  auto held = mutex{locks, "stock", lock_options{}.ttl(2s)}.acquire();
  loss loss_signal{held};
  server_->execute("ALTER TABLE holdfast_locks_claims RENAME COLUMN expires TO ends");
  const auto refused = failure_of([&] { mutex{locks, "other", hasty()}.lock(); });
  EXPECT_EQ(refused.code, errc::foreign_store) << refused.text;
  EXPECT_THAT(refused.text, testing::AllOf(HasSubstr("other columns"), HasSubstr("table=")));
  EXPECT_EQ(loss_signal.wait().reason, errc::lost);
  server_->execute("ALTER TABLE holdfast_locks_claims RENAME COLUMN ends TO expires");
  EXPECT_TRUE(mutex(locks, "stock").try_acquire_for(60s));
}

TEST_P(database_tables, dropped_under_a_client_are_made_anew_and_tokens_rise) {
  EXPECT_EQ(try_to_lock().text, "it did not fail");
  auto each = tables();
  each.push_back(all_tables());
  for (const std::string& names : each) {
    SCOPED_TRACE(names);
    client locks{url()};
    const bool keeps_claims = names == "holdfast_locks_sweeps" || names == "holdfast_locks_words";
    auto held = mutex{locks, "stock"}.acquire();
    const auto last = held.token();
    drop(names);
    EXPECT_FALSE(mutex(locks, "other", patient()).acquire().release());
    EXPECT_EQ(renew(held), keeps_claims ? renewal::renewed : renewal::lost);
    EXPECT_EQ(held.release(), keeps_claims ? std::error_code{} : errc::lost);
    auto next = mutex{locks, "stock", patient()}.acquire();
    EXPECT_GT(next.token(), last);
    EXPECT_FALSE(next.release());
    server_->execute("DELETE FROM holdfast_locks_claims");
  }
}

TEST_P(database_tables, emptied_under_a_client_lose_the_lease_with_its_next_renewal) {
  client locks{url()};
  auto held = mutex{locks, "stock"}.acquire();
  server_->execute("DELETE FROM holdfast_locks");
  server_->execute("DELETE FROM holdfast_locks_claims");
  auto next = mutex{locks, "stock"}.acquire();
  EXPECT_TRUE(held.held()) << "until it asks";
  EXPECT_GT(next.token(), held.token());
  EXPECT_EQ(held.renew(), renewal::lost);
  EXPECT_EQ(next.renew(), renewal::renewed);
}

TEST_P(database_tables, whose_routines_are_dropped_under_a_client_get_them_again_and_lose_nothing) {
  client locks{url()};
  auto held = mutex{locks, "stock"}.acquire();
  auto each = server_->inner_routines();
  each.insert(each.end(), {"acquire", "renew", "layout", "sweep"});
  for (const std::string& routine : each) {
    SCOPED_TRACE(routine);
    server_->execute("DROP " + server_->kind_of_routine() + " holdfast_locks_" + routine);
    EXPECT_FALSE(mutex(locks, "other", patient()).acquire().release());
    EXPECT_EQ(renew(held), renewal::renewed);
    if (routines("holdfast_locks_" + routine) == 0) {
      server_->end_sessions();  // what nobody has called is found missing by the next connection
      EXPECT_EQ(renew(held), renewal::renewed);
    }
    EXPECT_EQ(routines("holdfast_locks_" + routine), 1);
  }
  EXPECT_FALSE(held.release());
  expect_free();
}

TEST_P(database_tables, that_must_not_be_made_are_told) {
  const auto missing = try_to_lock("?create=0");
  EXPECT_EQ(missing.code, errc::unavailable) << missing.text;
  EXPECT_THAT(missing.text, HasSubstr("create=0"));
  EXPECT_EQ(columns(), "");
  EXPECT_EQ(try_to_lock().text, "it did not fail");

  client locks{url("?create=0")};
  EXPECT_FALSE(mutex(locks, "other", patient()).acquire().release());
  drop(all_tables());
  await(
      [&] {
        const auto failed = failure_of([&] { mutex{locks, "other", hasty()}.lock(); });
        EXPECT_EQ(failed.code, errc::unavailable) << failed.text;
        return failed.text.find("holdfast schema") != std::string::npos;
      },
      "it is not said what to do");
  EXPECT_EQ(columns(), "");
  EXPECT_EQ(try_to_lock().text, "it did not fail");
  await([&] { return !failure_of([&] { (void)mutex{locks, "recovered"}.acquire(); }).code; },
        "it does not recover");
}

HOLDFAST_ON_EACH_SERVER(database_tables, database_kinds, any_kind<database>);

}  // namespace
}  // namespace holdfast::faults
