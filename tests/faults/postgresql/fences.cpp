// SPDX-License-Identifier: Apache-2.0
// The table of fences and its routine, which a resource in PostgreSQL calls.

#include <future>
#include <gmock/gmock.h>

#include "faults/paused_writer.hpp"
#include "faults/postgresql/on_postgresql.hpp"
#include <holdfast/schema.hpp>

namespace holdfast::faults {
namespace {

using test::postgresql_console;
using testing::HasSubstr;
using testing::StartsWith;

class postgresql_fences : public on_postgresql {
 protected:
  postgresql_fences() {
    EXPECT_EQ(server_.ask("CREATE ROLE worker LOGIN; CREATE ROLE stranger LOGIN"), "");
    EXPECT_TRUE(apply_fence_schema(server_.url("?grant_lock=worker")));
    first_ = server_.console("worker");
    second_ = server_.console("worker");
  }
  static std::string fence(const std::string& resource, const std::string& token) {
    return "SELECT public.holdfast_fence(" + resource + ", " + token + ")";
  }
  std::string seen(const std::string& resource) {
    return server_.ask("SELECT token FROM public.holdfast_fences WHERE resource = $1", {resource});
  }
  /// Until a connection waits for a row.
  void expect_wait(const postgresql_console& of) {
    await(
        [&] {
          return server_.number(
                     "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND pid = " +
                     std::to_string(of.backend())) == 1;
        },
        "it does not wait");
  }
  std::unique_ptr<postgresql_console> first_;
  std::unique_ptr<postgresql_console> second_;
};

TEST_F(postgresql_fences, refuse_an_older_token_and_admit_the_same) {
  EXPECT_EQ(first_->ask(fence("'stock'", "5")), "");
  EXPECT_EQ(first_->ask(fence("'stock'", "5")), "");
  const std::string refusal = first_->ask(fence("'stock'", "4"));
  EXPECT_THAT(refusal, StartsWith("-XHF01"));
  EXPECT_THAT(refusal, HasSubstr("the fencing token 4 is older than 5, the largest seen for \"stock\""));
  EXPECT_EQ(first_->ask(fence("'stock'", "9223372036854775807")), "");
  EXPECT_EQ(seen("stock"), "9223372036854775807");
  for (const char* token : {"0", "-1", "NULL"})
    EXPECT_THAT(first_->ask(fence("'stock'", token)), StartsWith("-22023")) << token;
  EXPECT_THAT(first_->ask(fence("NULL", "6")), StartsWith("-22023"));
}

TEST_F(postgresql_fences, compare_names_byte_for_byte) {
  const std::string odd = R"(O'Brien "$1" {fence} \ %)";
  for (const std::string& name : {odd, std::string{"stock"}, std::string{"Stock"}, std::string{"stock "},
                                  std::string{"\xc3\xa9"}, std::string{"e\xcc\x81"}, std::string{}}) {
    EXPECT_EQ(seen(name), "") << name;
    EXPECT_EQ(first_->ask("SELECT public.holdfast_fence($1, 7)", {name}), "") << name;
    EXPECT_EQ(seen(name), "7") << name;
  }
}

TEST_F(postgresql_fences, keep_a_resource_until_the_transaction_ends) {
  for (const auto& [late, token] : {std::pair{true, "4"}, std::pair{false, "6"}}) {
    EXPECT_EQ(first_->ask("BEGIN"), "");
    EXPECT_EQ(first_->ask(fence("'stock'", "5")), "");
    second_->tell(fence("'stock'", token));
    expect_wait(*second_);
    EXPECT_EQ(first_->ask("COMMIT"), "");
    EXPECT_THAT(second_->answer(), late ? StartsWith("-XHF01") : StartsWith("")) << token;
  }
  EXPECT_EQ(seen("stock"), "6");
}

TEST_F(postgresql_fences, forget_the_token_of_a_transaction_that_is_rolled_back) {
  EXPECT_EQ(first_->ask("BEGIN"), "");
  EXPECT_EQ(first_->ask(fence("'stock'", "5")), "");
  second_->tell(fence("'stock'", "4"));
  expect_wait(*second_);
  EXPECT_EQ(first_->ask("ROLLBACK"), "");
  EXPECT_EQ(second_->answer(), "");
  EXPECT_EQ(seen("stock"), "4");
}

TEST_F(postgresql_fences, fail_with_40001_in_a_snapshot_older_than_another_holder) {
  for (const char* level : {"REPEATABLE READ", "SERIALIZABLE"}) {
    EXPECT_EQ(first_->ask("BEGIN"), "");
    EXPECT_EQ(first_->ask(fence("'stock'", "5")), "");
    EXPECT_EQ(second_->ask(std::string{"BEGIN ISOLATION LEVEL "} + level), "");
    second_->tell(fence("'stock'", "6"));
    expect_wait(*second_);
    EXPECT_EQ(first_->ask("COMMIT"), "");
    EXPECT_THAT(second_->answer(), StartsWith("-40001")) << level;
    EXPECT_EQ(second_->ask("ROLLBACK"), "");
  }
}

TEST_F(postgresql_fences, of_two_resources_do_not_wait_for_each_other) {
  EXPECT_EQ(first_->ask("BEGIN"), "");
  EXPECT_EQ(second_->ask("BEGIN"), "");
  EXPECT_EQ(first_->ask(fence("'a'", "5")), "");
  EXPECT_EQ(second_->ask("SET LOCAL lock_timeout = '30s'"), "");
  EXPECT_EQ(second_->ask(fence("'b'", "5")), "");
  EXPECT_EQ(second_->ask("COMMIT"), "");
  EXPECT_EQ(first_->ask("COMMIT"), "");
}

TEST_F(postgresql_fences, are_called_by_roles_that_have_no_right_to_the_table) {
  EXPECT_EQ(first_->ask(fence("'stock'", "5")), "");
  for (const char* statement :
       {"UPDATE public.holdfast_fences SET token = 1", "DELETE FROM public.holdfast_fences",
        "INSERT INTO public.holdfast_fences VALUES ('x', 1)", "SELECT * FROM public.holdfast_fences"})
    EXPECT_THAT(first_->ask(statement), StartsWith("-42501")) << statement;
  EXPECT_THAT(server_.console("stranger")->ask(fence("'stock'", "6")), StartsWith("-42501"));
}

TEST_F(postgresql_fences, grant_nobody_what_default_privileges_grant) {
  EXPECT_EQ(
      server_.ask(
          "CREATE SCHEMA a AUTHORIZATION holdfast; GRANT USAGE ON SCHEMA a TO PUBLIC; CREATE ROLE other "
          "LOGIN;"
          "ALTER DEFAULT PRIVILEGES FOR ROLE holdfast GRANT ALL ON TABLES TO stranger WITH GRANT OPTION;"
          "ALTER DEFAULT PRIVILEGES FOR ROLE holdfast GRANT EXECUTE ON FUNCTIONS TO stranger"),
      "");
  EXPECT_TRUE(apply_fence_schema(server_.url("?table=a.locks&grant_lock=worker")));
  const auto stranger = server_.console("stranger");
  for (const char* statement : {"SELECT a.holdfast_fence('stock', 5)", "SELECT * FROM a.holdfast_fences",
                                "UPDATE a.holdfast_fences SET token = 1", "DELETE FROM a.holdfast_fences",
                                "CREATE TRIGGER t BEFORE UPDATE ON a.holdfast_fences FOR EACH ROW "
                                "EXECUTE FUNCTION suppress_redundant_updates_trigger()"})
    EXPECT_THAT(stranger->ask(statement), StartsWith("-42501")) << statement;
  EXPECT_THAT(server_.console("other")->ask("SELECT a.holdfast_fence('stock', 5)"), StartsWith("-42501"));
  EXPECT_EQ(first_->ask("SELECT a.holdfast_fence('stock', 5)"), "");

  EXPECT_EQ(server_.ask("GRANT SELECT ON a.holdfast_fences TO stranger;"
                        "GRANT EXECUTE ON FUNCTION a.holdfast_fence TO stranger"),
            "");
  EXPECT_FALSE(apply_fence_schema(server_.url("?table=a.locks")));
  EXPECT_EQ(stranger->ask("SELECT a.holdfast_fence('stock', 5)"), "");
  EXPECT_EQ(server_.ask("DROP FUNCTION a.holdfast_fence"), "");
  EXPECT_TRUE(apply_fence_schema(server_.url("?table=a.locks")));
  EXPECT_THAT(stranger->ask("SELECT a.holdfast_fence('stock', 5)"), StartsWith("-42501"));
  EXPECT_EQ(stranger->ask("SELECT token FROM a.holdfast_fences"), "5");
}

TEST_F(postgresql_fences, run_no_operators_of_the_caller) {
  EXPECT_EQ(server_.ask("CREATE SCHEMA worker AUTHORIZATION worker"), "");
  EXPECT_EQ(first_->ask(
                "CREATE FUNCTION worker.never(bigint, bigint) RETURNS boolean LANGUAGE sql AS 'SELECT true';"
                "CREATE OPERATOR worker.<= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = worker.never);"
                "SET search_path = worker, public, pg_catalog"),
            "");
  EXPECT_EQ(first_->ask(fence("'stock'", "5")), "");
  EXPECT_THAT(first_->ask(fence("'stock'", "4")), StartsWith("-XHF01"));
}

TEST_F(postgresql_fences, are_made_once_and_put_back) {
  EXPECT_FALSE(apply_fence_schema(server_.url("?grant_lock=worker&table=locks")));
  EXPECT_EQ(server_.ask("CREATE OR REPLACE FUNCTION public.holdfast_fence(in_resource text, in_token bigint) "
                        "RETURNS void LANGUAGE sql AS ''"),
            "");
  EXPECT_TRUE(apply_fence_schema(server_.url()));
  EXPECT_EQ(first_->ask(fence("'stock'", "5")), "");
  EXPECT_THAT(first_->ask(fence("'stock'", "4")), StartsWith("-XHF01"));
}

TEST_F(postgresql_fences, of_others_are_left_alone) {
  EXPECT_EQ(server_.ask("CREATE SCHEMA a AUTHORIZATION holdfast; CREATE TABLE a.holdfast_fences (x int);"
                        "ALTER TABLE a.holdfast_fences OWNER TO holdfast;"
                        "CREATE SCHEMA b AUTHORIZATION holdfast; GRANT ALL ON SCHEMA b TO stranger"),
            "");
  EXPECT_EQ(failure_of([&] { (void)apply_fence_schema(server_.url("?table=a.locks")); }).code,
            errc::foreign_store);
  EXPECT_EQ(
      server_.console("stranger")
          ->ask("CREATE TABLE b.holdfast_fences (resource text COLLATE \"C\" PRIMARY KEY, token bigint)"),
      "");
  const auto refused = failure_of([&] { (void)apply_fence_schema(server_.url("?table=b.locks")); });
  EXPECT_EQ(refused.code, errc::foreign_store);
  EXPECT_THAT(refused.text, HasSubstr("belongs to stranger"));
}

// Between the look for objects of others and the routine's making another role makes one of that name. The
// owner of a routine that is replaced stays.
TEST_F(postgresql_fences, are_not_made_of_a_routine_that_comes_in_between) {
  constexpr const char* gate = "pg_advisory_xact_lock(4711)";
  EXPECT_EQ(
      server_.ask(std::string{"CREATE SCHEMA a; GRANT ALL ON SCHEMA a TO stranger;"
                              "CREATE FUNCTION public.wait() RETURNS event_trigger LANGUAGE plpgsql "
                              "SET lock_timeout = 0 AS $$ BEGIN IF session_user = 'postgres' THEN PERFORM "} +
                  gate +
                  "; END IF; END $$;"
                  "CREATE EVENT TRIGGER wait ON ddl_command_start WHEN TAG IN ('CREATE FUNCTION') "
                  "EXECUTE FUNCTION public.wait()"),
      "");
  EXPECT_EQ(first_->ask(std::string{"BEGIN; SELECT "} + gate), "");
  const std::string url =
      "postgresql://postgres@127.0.0.1:" + std::to_string(server_.port()) + "/holdfast?table=a.locks";
  auto made =
      std::async(std::launch::async, [&] { return failure_of([&] { (void)apply_fence_schema(url); }); });
  await([&] { return server_.number("SELECT count(*) FROM pg_locks WHERE NOT granted") == 1; },
        "it does not wait");
  EXPECT_EQ(server_.console("stranger")
                ->ask("CREATE FUNCTION a.holdfast_fence(in_resource text, in_token bigint) RETURNS void "
                      "LANGUAGE sql AS ''"),
            "");
  EXPECT_EQ(first_->ask("COMMIT"), "");
  const auto refused = made.get();
  EXPECT_EQ(refused.code, errc::foreign_store);
  EXPECT_THAT(refused.text, HasSubstr("holdfast_fence belongs to stranger"));
  EXPECT_EQ(
      server_.ask("SELECT prosecdef, prosrc FROM pg_proc WHERE proname = 'holdfast_fence' AND pronamespace = "
                  "'a'::regnamespace"),
      "f|");
  EXPECT_EQ(
      server_.number("SELECT count(*) FROM pg_class WHERE relname = 'holdfast_fences' AND relnamespace = "
                     "'a'::regnamespace"),
      0);
}

TEST_F(postgresql_fences, keep_the_late_write_of_a_paused_holder_away) {
  EXPECT_EQ(server_.ask("CREATE TABLE public.stock (units int); INSERT INTO public.stock VALUES (10);"
                        "GRANT ALL ON public.stock TO worker"),
            "");
  for (const bool checked : {false, true}) {
    const auto statements = [&](fencing_token token, int units) {
      return (checked ? fence("'stock'", std::to_string(token.value())) + "; " : "") +
             "UPDATE public.stock SET units = " + std::to_string(units);
    };
    const auto write = [&](fencing_token token) {
      return std::vector<std::string>{postgresql_server::programs() + "/psql",
                                      "--no-psqlrc",
                                      "--host=" + server_.socket_folder(),
                                      "--port=" + std::to_string(server_.port()),
                                      "--username=worker",
                                      "--dbname=holdfast",
                                      "--set=ON_ERROR_STOP=1",
                                      "--command=BEGIN; " + statements(token, 1) + "; COMMIT"};
    };
    const auto succeed = [&](fencing_token token) { EXPECT_EQ(first_->ask(statements(token, 9)), ""); };
    EXPECT_EQ(status_of_late_write(server_.url(), write, succeed), checked ? 1 : 0);
    EXPECT_EQ(server_.ask("SELECT units FROM public.stock"), checked ? "9" : "1");
  }
}

}  // namespace
}  // namespace holdfast::faults
