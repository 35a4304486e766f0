// SPDX-License-Identifier: Apache-2.0
// Routines of others, schemas and settings for names. What all databases have in common is in
// servers/tables.cpp.

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
  [[nodiscard]] std::int64_t tables() {
    return server_.number("SELECT count(*) FROM pg_class WHERE relname LIKE 'holdfast%'");
  }
};

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
    EXPECT_EQ(tables(), 0);
    ASSERT_EQ(server_.ask("DROP FUNCTION holdfast_locks_layout"), "");
  }
}

TEST_F(postgresql_tables, are_known_whatever_the_settings_of_a_role_for_names_are) {
  ASSERT_EQ(server_.ask("ALTER ROLE holdfast SET quote_all_identifiers = on"), "");
  for (int time = 0; time < 2; ++time) EXPECT_EQ(try_to_lock().text, "it did not fail");
}

TEST_F(postgresql_tables, in_a_schema_that_is_missing_or_dropped_are_told) {
  const auto missing = try_to_lock("?table=shelf.locks");
  EXPECT_EQ(missing.code, errc::foreign_store) << missing.text;
  EXPECT_THAT(missing.text, HasSubstr("shelf"));
  EXPECT_THAT(missing.text, HasSubstr("create the schema"));
  ASSERT_EQ(server_.ask("CREATE SCHEMA shelf AUTHORIZATION holdfast"), "");
  client locks{server_.url("?table=shelf.locks")};
  auto held = mutex{locks, "stock"}.acquire();
  EXPECT_EQ(tables(), 0);
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
