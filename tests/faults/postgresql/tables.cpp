// Tables and routines that others have made, changed or removed.

#include "faults/postgresql/on_postgresql.hpp"

namespace holdfast::faults {
namespace {

using testing::HasSubstr;

class postgresql_tables : public on_postgresql {
 protected:
  [[nodiscard]] failing try_to_lock(const std::string& options = {}) const {
    return failure_of([&] {
      client locks{server_.url(options)};
      mutex{locks, "stock"}.lock();
    });
  }
  /// Everything of that name, with its shape.
  [[nodiscard]] std::string all_of(const std::string& name) {
    return server_.ask(
        "SELECT c.relname, c.relkind, string_agg(a.attname || ' ' || a.atttypid::regtype, ', ' ORDER BY "
        "a.attnum) "
        "FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.relname LIKE $1 AND a.attnum > 0 "
        "GROUP BY 1, 2 ORDER BY 1",
        {name + "%"});
  }
};

TEST_F(postgresql_tables, of_others_under_any_of_our_names_are_left_alone) {
  for (const std::string text : {"TABLE holdfast_locks (name text, price int)",
                                 "TABLE holdfast_locks_claims (name text, token bigint)",
                                 "TABLE holdfast_locks_sweeps (swept timestamptz, who text)",
                                 "VIEW holdfast_locks AS SELECT 1 AS name", "SEQUENCE holdfast_locks"}) {
    SCOPED_TRACE(text);
    ASSERT_EQ(server_.ask("CREATE " + text), "");
    const auto before = all_of("holdfast");
    for (const std::string options : {"", "?create=0"}) {
      const auto refused = try_to_lock(options);
      EXPECT_EQ(refused.code, errc::foreign_store) << refused.text;
      EXPECT_THAT(refused.text, HasSubstr("holdfast_locks"));
      EXPECT_THAT(refused.text, HasSubstr("table="));
    }
    EXPECT_EQ(all_of("holdfast"), before);
    EXPECT_EQ(server_.number("SELECT count(*) FROM pg_proc WHERE proname LIKE 'holdfast%'"), 0);
    const std::string name = text.substr(
        text.find("holdfast"), text.find_first_of(" ", text.find("holdfast")) - text.find("holdfast"));
    ASSERT_EQ(server_.ask("DROP " + text.substr(0, text.find(' ')) + ' ' + name), "");
  }
  EXPECT_EQ(try_to_lock("?table=other").text, "it did not fail");
}

TEST_F(postgresql_tables, with_routines_of_others_are_not_made) {
  const std::string theirs =
      "CREATE FUNCTION holdfast_locks_layout() RETURNS text LANGUAGE sql AS $$ SELECT 'mine' $$";
  // Made by ourselves, it is ours to replace, but returns something else; of another, it is not.
  for (const auto& [maker, code] :
       {std::pair{"holdfast", errc::foreign_store}, {"postgres", errc::permission_denied}}) {
    ASSERT_EQ(server_.console(maker)->ask(theirs), "");
    const auto refused = try_to_lock();
    EXPECT_EQ(refused.code, code) << refused.text;
    EXPECT_THAT(refused.text, HasSubstr("holdfast_locks"));
    EXPECT_EQ(server_.ask("SELECT holdfast_locks_layout()"), "mine");
    EXPECT_EQ(all_of("holdfast"), "");
    ASSERT_EQ(server_.ask("DROP FUNCTION holdfast_locks_layout"), "");
  }
}

TEST_F(postgresql_tables, are_known_whatever_the_settings_of_a_role_for_names_are) {
  ASSERT_EQ(server_.ask("ALTER ROLE holdfast SET quote_all_identifiers = on"), "");
  for (int time = 0; time < 2; ++time) EXPECT_EQ(try_to_lock().text, "it did not fail");
}

TEST_F(postgresql_tables, changed_under_a_client_are_told) {
  client locks{server_.url()};
  auto held = mutex{locks, "stock", lock_options{}.ttl(2s)}.acquire();
  loss loss_signal{held};
  ASSERT_EQ(server_.ask("ALTER TABLE holdfast_locks_claims RENAME COLUMN expires TO ends"), "");
  const auto refused = failure_of([&] { mutex{locks, "other", hasty()}.lock(); });
  EXPECT_EQ(refused.code, errc::foreign_store) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("other columns"));
  EXPECT_THAT(refused.text, HasSubstr("table="));
  EXPECT_EQ(loss_signal.wait().reason, errc::lost);
  ASSERT_EQ(server_.ask("ALTER TABLE holdfast_locks_claims RENAME COLUMN ends TO expires"), "");
  EXPECT_TRUE(mutex(locks, "stock").try_acquire_for(60s));
}

TEST_F(postgresql_tables, dropped_under_a_client_are_made_anew_and_tokens_rise) {
  for (const std::string text : {"holdfast_locks, holdfast_locks_claims, holdfast_locks_sweeps",
                                 "holdfast_locks", "holdfast_locks_claims", "holdfast_locks_sweeps"}) {
    SCOPED_TRACE(text);
    client locks{server_.url()};
    const bool keeps_claims = text == "holdfast_locks_sweeps";
    auto held = mutex{locks, "stock"}.acquire();
    const auto last = held.token();
    std::string dropped = "-40P01";  // a sweep takes them in another order
    while (dropped.starts_with("-40P01")) dropped = server_.ask("DROP TABLE " + text);
    ASSERT_EQ(dropped, "");
    EXPECT_FALSE(mutex(locks, "other", patient()).acquire().release());
    EXPECT_EQ(renew(held), keeps_claims ? renewal::renewed : renewal::lost);
    EXPECT_EQ(held.release(), keeps_claims ? std::error_code{} : errc::lost);
    auto next = mutex{locks, "stock", patient()}.acquire();
    EXPECT_GT(next.token(), last);
    EXPECT_FALSE(next.release());
    server_.ask("DELETE FROM holdfast_locks_claims");
  }
}

TEST_F(postgresql_tables, emptied_under_a_client_lose_the_lease_with_its_next_renewal) {
  client locks{server_.url()};
  auto held = mutex{locks, "stock"}.acquire();
  server_.ask("TRUNCATE holdfast_locks, holdfast_locks_claims");
  auto next = mutex{locks, "stock"}.acquire();
  EXPECT_TRUE(held.held()) << "until it asks";
  EXPECT_GT(next.token(), held.token());
  EXPECT_EQ(held.renew(), renewal::lost);
  EXPECT_EQ(next.renew(), renewal::renewed);
}

TEST_F(postgresql_tables, whose_routines_are_dropped_under_a_client_get_them_again_and_lose_nothing) {
  client locks{server_.url()};
  auto held = mutex{locks, "stock"}.acquire();
  for (const std::string routine : {"acquire", "renew", "serve", "now", "layout", "sweep", "untrack"}) {
    SCOPED_TRACE(routine);
    ASSERT_EQ(server_.ask("DROP FUNCTION holdfast_locks_" + routine), "");
    EXPECT_FALSE(mutex(locks, "other", patient()).acquire().release());
    EXPECT_EQ(renew(held), renewal::renewed);
    if (!server_.number("SELECT count(to_regproc('holdfast_locks_" + routine + "'))")) {
      terminate_all();  // what nobody has called is found missing by the next connection
      EXPECT_EQ(renew(held), renewal::renewed);
    }
    EXPECT_EQ(server_.number("SELECT count(to_regproc('holdfast_locks_" + routine + "'))"), 1);
  }
  EXPECT_FALSE(held.release());
  expect_free();
}

TEST_F(postgresql_tables, dropped_where_they_must_not_be_made_are_told) {
  EXPECT_EQ(try_to_lock().text, "it did not fail");
  client locks{server_.url("?create=0")};
  EXPECT_FALSE(mutex(locks, "other", patient()).acquire().release());
  ASSERT_EQ(server_.ask("DROP TABLE holdfast_locks, holdfast_locks_claims, holdfast_locks_sweeps"), "");
  await(
      [&] {
        const auto failed = failure_of([&] { mutex{locks, "other", hasty()}.lock(); });
        EXPECT_EQ(failed.code, errc::unavailable) << failed.text;
        return failed.text.find("holdfast schema") != std::string::npos;
      },
      "it is not said what to do");
  EXPECT_EQ(all_of("holdfast"), "");
  EXPECT_EQ(try_to_lock().text, "it did not fail");
  expect_recovery(locks);
}

TEST_F(postgresql_tables, in_a_schema_that_is_missing_or_dropped_are_told) {
  const auto missing = try_to_lock("?table=shelf.locks");
  EXPECT_EQ(missing.code, errc::foreign_store) << missing.text;
  EXPECT_THAT(missing.text, HasSubstr("shelf"));
  EXPECT_THAT(missing.text, HasSubstr("create the schema"));
  ASSERT_EQ(server_.ask("CREATE SCHEMA shelf AUTHORIZATION holdfast"), "");
  client locks{server_.url("?table=shelf.locks")};
  auto held = mutex{locks, "stock"}.acquire();
  EXPECT_EQ(all_of("holdfast"), "");
  ASSERT_EQ(server_.ask("DROP SCHEMA shelf CASCADE"), "");
  await(
      [&] {
        return failure_of([&] { mutex{locks, "other", hasty()}.lock(); }).text.find("create the schema") !=
               std::string::npos;
      },
      "it is not said what to do");
  ASSERT_EQ(server_.ask("CREATE SCHEMA shelf AUTHORIZATION holdfast"), "");
  expect_recovery(locks);
}

}  // namespace
}  // namespace holdfast::faults
