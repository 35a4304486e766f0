// Stores that another version has made, or that somebody has changed.

#include <atomic>

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
  /// As it was before routines had a revision, as far as that matters here.
  void make_older() {
    ASSERT_EQ(
        server_.ask(
            "DROP FUNCTION holdfast_locks_revision, holdfast_locks_extend, holdfast_locks_page, "
            "holdfast_locks_inspect_part, holdfast_locks_list_part, "
            "holdfast_locks_watch, holdfast_locks_watch_name, holdfast_locks_unwatch_names, "
            "holdfast_locks_gone, "
            "holdfast_locks_changed(text);"
            "ALTER TABLE holdfast_locks_sweeps DROP COLUMN id, DROP COLUMN walked, DROP COLUMN watched, "
            "DROP COLUMN watched_names;"
            "ALTER TABLE holdfast_locks_claims DROP COLUMN login;"
            "CREATE FUNCTION holdfast_locks_gone(in_client bytea) RETURNS boolean LANGUAGE sql AS 'SELECT "
            "false';"
            "ALTER FUNCTION holdfast_locks_gone OWNER TO holdfast"),
        "");
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
  const std::string newer =
      "CREATE OR REPLACE FUNCTION holdfast_locks_revision() RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT "
      "''9 "
      "later''::text'";
  ASSERT_EQ(server_.ask(newer), "");
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

TEST_F(postgresql_upgrades, take_from_everybody_what_they_once_could_execute) {
  make_older();
  ASSERT_EQ(server_.ask("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO PUBLIC"), "");
  EXPECT_TRUE(apply_schema(server_.url()));
  EXPECT_EQ(server_.ask("CREATE ROLE other LOGIN"), "");
  EXPECT_THAT(server_.console("other")->ask("SELECT holdfast_locks_evict('stock')"),
              testing::StartsWith("-42501"));
  EXPECT_EQ(try_to_lock(guest()).text, "it did not fail");
}

TEST_F(postgresql_upgrades, leave_to_everybody_what_everybody_was_granted) {
  EXPECT_FALSE(apply_schema(server_.url("?grant_lock=public")));
  ASSERT_EQ(server_.ask("CREATE ROLE other LOGIN; DROP FUNCTION holdfast_locks_extend"), "");
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

// Watches of single names came with revision 4.
TEST_F(postgresql_upgrades, of_revision_3_are_made_in_place_while_its_calls_are_in_progress) {
  const std::string former =
      "DROP FUNCTION holdfast_locks_changed(text), holdfast_locks_watch_name, holdfast_locks_unwatch_names;"
      "ALTER TABLE holdfast_locks_sweeps DROP COLUMN watched_names;"
      "CREATE OR REPLACE FUNCTION holdfast_locks_revision() RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT "
      "''3 former''::text'";
  ASSERT_EQ(server_.ask(former), "");
  EXPECT_EQ(try_to_lock(guest()).code, errc::permission_denied);
  EXPECT_EQ(try_to_lock(server_.url()).text, "it did not fail");
  EXPECT_THAT(revision(), testing::StartsWith("6 "));
  EXPECT_EQ(server_.console("holdfast")->ask("SELECT holdfast_locks_changed()"), "")
      << "as the former routines call it";
  client others{guest()};
  std::atomic<int> calls = 0;
  const auto watch = others.watch("stock", [&] { ++calls; });
  await([&] { return calls > 0; }, "it is not called at the beginning");
  EXPECT_EQ(
      server_.ask("SELECT has_function_privilege('guest', 'holdfast_locks_watch_name(text)', 'EXECUTE')"),
      "t");
}

// Checks of numbers came with revision 5.
TEST_F(postgresql_upgrades, of_revision_4_are_made_in_place_and_refuse_numbers_that_no_client_sends) {
  const std::string former =
      "CREATE OR REPLACE FUNCTION holdfast_locks_sweep(keep_idle bigint, every bigint, at_most bigint, OUT "
      "more bigint) LANGUAGE sql AS 'SELECT 0::bigint';"
      "CREATE OR REPLACE FUNCTION holdfast_locks_revision() RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT "
      "''4 former''::text'";
  ASSERT_EQ(server_.ask(former), "");
  EXPECT_EQ(try_to_lock(guest()).code, errc::permission_denied);
  EXPECT_EQ(try_to_lock(server_.url()).text, "it did not fail");
  EXPECT_THAT(revision(), testing::StartsWith("6 "));
  EXPECT_THAT(server_.console("guest")->ask("SELECT holdfast_locks_sweep(-1, 0, 256)"),
              testing::StartsWith("-22023"));
  EXPECT_EQ(try_to_lock(guest()).text, "it did not fail");
}

// Looks in parts came with revision 6.
TEST_F(postgresql_upgrades, of_revision_5_let_those_look_in_parts_who_may_look) {
  ASSERT_EQ(server_.ask("CREATE ROLE onlooker LOGIN"), "");
  EXPECT_FALSE(apply_schema(server_.url("?grant_look=onlooker")));
  const std::string former =
      "DROP FUNCTION holdfast_locks_inspect_part, holdfast_locks_list_part;"
      "CREATE OR REPLACE FUNCTION holdfast_locks_revision() RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT "
      "''5 former''::text'";
  ASSERT_EQ(server_.ask(former), "");
  client locks{server_.url()};
  const auto held = mutex{locks, "stock"}.acquire();
  EXPECT_THAT(revision(), testing::StartsWith("6 "));
  client onlooker{"postgresql://onlooker@127.0.0.1:" + std::to_string(server_.port()) + "/holdfast"};
  EXPECT_EQ(onlooker.list().size(), 1U);
  EXPECT_EQ(onlooker.inspect("stock")->holders.size(), 1U);
}

// Calls of the former version, on a store that has been brought up to date.
TEST_F(postgresql_upgrades, answer_older_clients_as_they_know_it) {
  const auto older = server_.console("holdfast");
  const std::string zeros(16, '0');
  const std::string owner = zeros + zeros;
  const auto place = older->ask(
      "SELECT place FROM holdfast_locks_acquire('a', decode($1, 'hex'), decode($1, 'hex'), 1073741824, "
      "1073741824, "
      "30000000, '', true)",
      {owner});
  EXPECT_EQ(
      older->ask("SELECT holdfast_locks_renew(decode('000161' || $1 || lpad(to_hex($2::bigint), 16, '0') || "
                 "lpad(to_hex(30000000), 16, '0'), 'hex'))",
                 {owner, place}),
      "1");
  EXPECT_EQ(older->ask("SELECT count(*) FROM holdfast_locks_list(false)"), "1");
  EXPECT_EQ(older->ask("SELECT count(*) FROM holdfast_locks_page(false, '', 500)"), "1");
  EXPECT_EQ(older->ask("SELECT count(*) FROM holdfast_locks_inspect('a')"), "1");
  EXPECT_EQ(older->ask("SELECT holdfast_locks_track(), holdfast_locks_untrack()"), "|");
  EXPECT_EQ(older->ask("SELECT holdfast_locks_release('a', decode($1, 'hex'), $2::bigint)", {owner, place}),
            "1");
}

}  // namespace
}  // namespace holdfast::faults
