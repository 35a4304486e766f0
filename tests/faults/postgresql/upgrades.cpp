// SPDX-License-Identifier: Apache-2.0
// Stores that another version has made, or that somebody has changed.

#include "faults/postgresql/on_postgresql.hpp"

namespace holdfast::faults {
namespace {

using testing::HasSubstr;

class postgresql_upgrades : public on_postgresql {
 protected:
  postgresql_upgrades() {
    EXPECT_EQ(server_.ask("CREATE ROLE guest LOGIN"), "");
    EXPECT_TRUE(apply_schema(server_.url("?grant_lock=guest")));
  }
  [[nodiscard]] std::string guest(const std::string& options = {}) const {
    return "postgresql://guest@127.0.0.1:" + std::to_string(server_.port()) + "/holdfast" + options;
  }
  [[nodiscard]] static failing try_to_lock(const std::string& url) {
    return failure_of([&] {
      client locks{url};
      mutex{locks, "other", patient()}.lock();
    });
  }
  void say_revision(const std::string& text) {
    ASSERT_EQ(server_.ask(
                  "CREATE OR REPLACE FUNCTION holdfast_locks_revision() RETURNS text LANGUAGE sql IMMUTABLE "
                  "AS 'SELECT ''" +
                  text + "''::text'"),
              "");
  }
  /// A store of an older revision, which lacks a routine.
  void make_older() {
    say_revision("0 former");
    ASSERT_EQ(
        server_.ask("DROP FUNCTION holdfast_locks_renew; CREATE OR REPLACE FUNCTION "
                    "holdfast_locks_sweep(keep_idle bigint, every bigint, at_most bigint, OUT more bigint) "
                    "LANGUAGE sql AS 'SELECT 0::bigint'"),
        "");
  }
  /// Everything of the store: its routines, its columns, its rows.
  std::string contents() {
    return server_.ask(
        "SELECT (SELECT string_agg(oid::regprocedure || prosrc, ' ' ORDER BY oid::regprocedure::text) FROM "
        "pg_proc "
        "WHERE proname LIKE 'holdfast%'), (SELECT string_agg(attrelid::regclass || attname, ' ' ORDER BY "
        "attrelid::regclass::text, attnum) FROM pg_attribute WHERE attrelid::regclass::text LIKE "
        "'holdfast%'), "
        "(SELECT string_agg(l::text, ' ') FROM holdfast_locks l)");
  }
  std::string revision() { return server_.ask("SELECT holdfast_locks_revision()"); }
};

TEST_F(postgresql_upgrades, of_an_older_store_are_made_by_its_owner_in_place) {
  const auto now = revision();
  client locks{server_.url()};
  auto held = mutex{locks, "stock", lock_options{}.ttl(1h)}.acquire();
  make_older();
  EXPECT_EQ(try_to_lock(server_.url()).text, "it did not fail");
  EXPECT_EQ(revision(), now);
  EXPECT_EQ(renew(held), renewal::renewed);
  const auto token = held.token();
  EXPECT_FALSE(held.release());
  EXPECT_GT(mutex(locks, "stock").acquire().token(), token);
  client others{guest()};  // which may execute what has been added as well
  EXPECT_EQ(mutex(others, "other").acquire().renew(), renewal::renewed);
  EXPECT_EQ(server_.number("SELECT count(*) FROM holdfast_locks_sweeps"), 1);
  EXPECT_THAT(server_.console("guest")->ask("SELECT holdfast_locks_sweep(-1, 0, 256)"),
              testing::StartsWith("-22023"))
      << "its routines are replaced";
}

TEST_F(postgresql_upgrades, of_an_older_store_are_asked_for_by_others) {
  make_older();
  for (const std::string options : {"", "?create=0"}) {
    const auto refused = try_to_lock(guest(options));
    EXPECT_EQ(refused.code, options.empty() ? errc::permission_denied : errc::unavailable) << refused.text;
    EXPECT_THAT(refused.text, HasSubstr("older version"));
    EXPECT_THAT(refused.text, HasSubstr("holdfast schema"));
  }
  EXPECT_TRUE(apply_schema(server_.url()));
  EXPECT_EQ(try_to_lock(guest()).text, "it did not fail");
}

TEST_F(postgresql_upgrades, of_a_newer_store_are_left_alone) {
  say_revision("9 later");
  EXPECT_EQ(try_to_lock(server_.url()).text, "it did not fail");
  EXPECT_FALSE(apply_schema(server_.url()));
  EXPECT_EQ(revision(), "9 later");
  // What the newer one does not have any more this client cannot do without, and does not put back.
  ASSERT_EQ(server_.ask("DROP FUNCTION holdfast_locks_look"), "");
  const auto refused = try_to_lock(server_.url());
  EXPECT_EQ(refused.code, errc::foreign_store) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("newer Holdfast"));
  EXPECT_THROW(apply_schema(server_.url()), error);
  EXPECT_EQ(revision(), "9 later");
}

TEST_F(postgresql_upgrades, put_back_what_somebody_has_changed) {
  EXPECT_FALSE(apply_schema(server_.url())) << "everything was there";
  ASSERT_EQ(
      server_.ask("CREATE OR REPLACE FUNCTION holdfast_locks_now() RETURNS bigint LANGUAGE sql AS 'SELECT "
                  "42::bigint'"),
      "");
  EXPECT_TRUE(apply_schema(server_.url()));
  EXPECT_GT(server_.number("SELECT holdfast_locks_now()"), 42);
  EXPECT_FALSE(apply_schema(server_.url()));
}

TEST_F(postgresql_upgrades, leave_to_everybody_what_everybody_was_granted) {
  EXPECT_FALSE(apply_schema(server_.url("?grant_lock=public")));
  ASSERT_EQ(server_.ask("CREATE ROLE other LOGIN; DROP FUNCTION holdfast_locks_renew"), "");
  EXPECT_TRUE(client(server_.url()).list().empty());  // makes it anew
  client others{"postgresql://other@127.0.0.1:" + std::to_string(server_.port()) + "/holdfast"};
  EXPECT_EQ(mutex(others, "other").acquire().renew(), renewal::renewed);
}

// As administrators have it who let nobody execute a function but by a grant.
TEST_F(postgresql_upgrades, grant_what_is_needed_where_nobody_may_execute_by_default) {
  ASSERT_EQ(server_.ask("ALTER DEFAULT PRIVILEGES FOR ROLE holdfast REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC"),
            "");
  make_older();
  EXPECT_TRUE(apply_schema(server_.url()));
  client others{guest()};
  EXPECT_EQ(mutex(others, "other").acquire().renew(), renewal::renewed);
  EXPECT_TRUE(apply_schema(server_.url("?table=another&grant_lock=guest")));
  EXPECT_EQ(try_to_lock(guest("?table=another&create=0")).text, "it did not fail");
}

TEST_F(postgresql_upgrades, let_those_look_who_may_look_already) {
  ASSERT_EQ(server_.ask("CREATE ROLE onlooker LOGIN"), "");
  EXPECT_FALSE(apply_schema(server_.url("?grant_look=onlooker")));
  say_revision("0 former");
  ASSERT_EQ(server_.ask("DROP FUNCTION holdfast_locks_list_part"), "");
  client locks{server_.url()};
  const auto held = mutex{locks, "stock"}.acquire();
  client onlooker{"postgresql://onlooker@127.0.0.1:" + std::to_string(server_.port()) + "/holdfast"};
  EXPECT_EQ(onlooker.list().size(), 1U);
  EXPECT_EQ(onlooker.inspect("stock")->holders.size(), 1U);
}

TEST_F(postgresql_upgrades, of_another_layout_are_refused_and_it_is_left_alone) {
  EXPECT_EQ(try_to_lock(server_.url()).text, "it did not fail");
  for (const std::string number : {"1", "99"}) {
    ASSERT_EQ(server_.ask(
                  "CREATE OR REPLACE FUNCTION holdfast_locks_layout() RETURNS bigint LANGUAGE sql IMMUTABLE "
                  "AS 'SELECT " +
                  number + "::bigint'"),
              "");
    const auto before = contents();
    for (const auto& refused :
         {try_to_lock(server_.url()), try_to_lock(guest()), try_to_lock(guest("?create=0")),
          failure_of([&] { static_cast<void>(apply_schema(server_.url())); })}) {
      EXPECT_EQ(refused.code, errc::foreign_store) << refused.text;
      EXPECT_THAT(refused.text, HasSubstr("has layout " + number + ", and this Holdfast needs layout 2"));
    }
    EXPECT_EQ(contents(), before);
  }
}

}  // namespace
}  // namespace holdfast::faults
