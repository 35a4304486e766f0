// SPDX-License-Identifier: Apache-2.0
// The table of fences and its procedure, which a resource in MariaDB calls.

#include <future>
#include <gmock/gmock.h>

#include "faults/paused_writer.hpp"
#include "support/mariadb_server.hpp"
#include <holdfast/schema.hpp>

namespace holdfast::faults {
namespace {

using test::mariadb_console;
using test::mariadb_error;
using test::mariadb_server;
using testing::HasSubstr;

constexpr unsigned fenced = 45001;
constexpr unsigned no_fence = 45002;

class mariadb_fences : public testing::Test {
 protected:
  mariadb_fences() {
    EXPECT_TRUE(apply_fence_schema(server_.url()));
    server_.ask("CREATE USER worker@'%'");
    server_.ask("GRANT EXECUTE ON PROCEDURE holdfast.holdfast_fence TO worker@'%'");
    first_ = server_.console({"worker", "", "holdfast"});
    second_ = server_.console({"worker", "", "holdfast"});
  }
  /// The number of the error; zero: there is none.
  static unsigned outcome(mariadb_console& of, const std::string& statement, std::string* text = nullptr) {
    try {
      of.ask(statement);
      return 0;
    } catch (const mariadb_error& e) {
      if (text != nullptr) *text = e.what();
      return e.number();
    }
  }
  static std::string fence(const std::string& resource, const std::string& token) {
    return "CALL holdfast_fence(" + resource + ", " + token + ")";
  }
  std::int64_t seen(const std::string& resource) {
    return server_.number("SELECT COALESCE(MAX(token), 0) FROM holdfast_fences WHERE resource = " + resource);
  }
  void expect_wait() {
    await([&] { return server_.status("Innodb_row_lock_current_waits") == 1; }, "nobody waits");
  }
  mariadb_server server_;
  std::unique_ptr<mariadb_console> first_;
  std::unique_ptr<mariadb_console> second_;
};

TEST_F(mariadb_fences, refuse_an_older_token_and_admit_the_same) {
  EXPECT_EQ(outcome(*first_, fence("'stock'", "5")), 0U);
  EXPECT_EQ(outcome(*first_, fence("'stock'", "5")), 0U);
  std::string text;
  EXPECT_EQ(outcome(*first_, fence("'stock'", "4"), &text), fenced);
  EXPECT_THAT(text, HasSubstr("the fencing token 4 is older than 5"));
  EXPECT_EQ(outcome(*first_, fence("'stock'", "9223372036854775807")), 0U);
  EXPECT_EQ(seen("'stock'"), std::numeric_limits<std::int64_t>::max());
  for (const char* token : {"0", "-1", "NULL"})
    EXPECT_EQ(outcome(*first_, fence("'stock'", token)), no_fence);
  EXPECT_EQ(outcome(*first_, fence("NULL", "6")), no_fence);
}

TEST_F(mariadb_fences, admit_no_number_that_is_too_large) {
  for (const char* mode : {"'STRICT_ALL_TABLES'", "''"}) {
    first_->ask(std::string{"SET sql_mode = "} + mode);
    for (const char* token :
         {"9223372036854775808", "18446744073709551616", "123456789012345678901234567890", "1e30", "'1e30'"})
      EXPECT_NE(outcome(*first_, fence("'stock'", token)), 0U) << mode << ' ' << token;
  }
  EXPECT_EQ(seen("'stock'"), 0);
}

TEST_F(mariadb_fences, compare_names_byte_for_byte) {
  first_->ask("SET sql_mode = ''");  // a name that is too long is refused all the same
  for (const char* name :
       {R"('O\'Brien "$1" {fence} \\ %')", "'stock'", "'Stock'", "'stock '", "x'00ff'", "''"}) {
    EXPECT_EQ(seen(name), 0) << name;
    EXPECT_EQ(outcome(*first_, fence(name, "7")), 0U) << name;
    EXPECT_EQ(seen(name), 7) << name;
  }
  EXPECT_NE(outcome(*first_, fence("REPEAT('x', 513)", "7")), 0U);
}

TEST_F(mariadb_fences, keep_a_resource_until_the_transaction_ends) {
  for (const char* level : {"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"}) {
    for (auto* each : {first_.get(), second_.get()})
      each->ask(std::string{"SET SESSION TRANSACTION ISOLATION LEVEL "} + level);
    server_.ask("DELETE FROM holdfast_fences");
    for (const auto& [token, expected] : {std::pair{"4", fenced}, std::pair{"6", 0U}}) {
      first_->ask("START TRANSACTION");
      EXPECT_EQ(outcome(*first_, fence("'stock'", "5")), 0U);
      auto other = std::async(std::launch::async, [&] { return outcome(*second_, fence("'stock'", token)); });
      expect_wait();
      first_->ask("COMMIT");
      EXPECT_EQ(other.get(), expected) << level << ' ' << token;
    }
  }
  EXPECT_EQ(seen("'stock'"), 6);
}

TEST_F(mariadb_fences, of_different_resources_do_not_wait_for_each_other) {
  for (auto* each : {first_.get(), second_.get()}) {
    each->ask("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    each->ask("SET SESSION innodb_lock_wait_timeout = 30");
  }
  for (const char* token : {"5", "5", "6"}) {  // new rows, the same tokens, others
    first_->ask("START TRANSACTION");
    second_->ask("START TRANSACTION");
    EXPECT_EQ(outcome(*first_, fence("'a'", token)), 0U);
    EXPECT_EQ(outcome(*second_, fence("'b'", token)), 0U);
    EXPECT_EQ(outcome(*first_, fence("'c'", token)), 0U);
    EXPECT_EQ(outcome(*second_, fence("'d'", token)), 0U);
    first_->ask("COMMIT");
    second_->ask("COMMIT");
  }
}

TEST_F(mariadb_fences, are_called_by_users_that_have_no_right_to_the_table) {
  EXPECT_EQ(outcome(*first_, fence("'stock'", "5")), 0U);
  constexpr unsigned denied = 1142;
  for (const char* statement :
       {"UPDATE holdfast_fences SET token = 1", "DELETE FROM holdfast_fences",
        "INSERT INTO holdfast_fences VALUES ('x', 1)", "SELECT * FROM holdfast_fences"})
    EXPECT_EQ(outcome(*first_, statement), denied) << statement;
  server_.ask("CREATE USER stranger@'%'");
  server_.ask("CREATE TABLE unrelated (x INT)");
  server_.ask("GRANT SELECT ON holdfast.unrelated TO stranger@'%'");
  EXPECT_NE(outcome(*server_.console({"stranger", "", "holdfast"}), fence("'stock'", "6")), 0U);
  EXPECT_EQ(seen("'stock'"), 5);
}

TEST_F(mariadb_fences, are_made_once_and_put_back) {
  EXPECT_FALSE(apply_fence_schema(server_.url()));
  server_.ask("CREATE OR REPLACE PROCEDURE holdfast_fence() COMMENT 'Holdfast fence 1 0123' SELECT 1");
  EXPECT_TRUE(apply_fence_schema(server_.url()));
  EXPECT_EQ(outcome(*first_, fence("'stock'", "5")), 0U);
}

// As a user may make it who has the printed statements.
TEST_F(mariadb_fences, that_run_with_the_rights_of_the_caller_are_replaced) {
  server_.ask("ALTER PROCEDURE holdfast_fence SQL SECURITY INVOKER");
  EXPECT_NE(outcome(*first_, fence("'stock'", "5")), 0U);
  EXPECT_TRUE(apply_fence_schema(server_.url()));
  EXPECT_FALSE(apply_fence_schema(server_.url()));
  EXPECT_EQ(outcome(*first_, fence("'stock'", "5")), 0U);
}

// The comment can be forged. The text may be the right one, too: its maker can alter it.
TEST_F(mariadb_fences, of_another_maker_are_replaced) {
  server_.ask("CREATE USER eve@'%'");
  server_.ask("GRANT ALL ON holdfast.* TO eve@'%'");
  server_.ask("DROP PROCEDURE holdfast_fence");
  EXPECT_TRUE(apply_fence_schema("mysql://eve@127.0.0.1:" + std::to_string(server_.port()) + "/holdfast"));
  EXPECT_TRUE(apply_fence_schema(server_.url()));
  EXPECT_FALSE(apply_fence_schema(server_.url()));
  EXPECT_EQ(
      server_.number("SELECT count(*) FROM information_schema.routines WHERE routine_name = 'holdfast_fence' "
                     "AND definer = 'holdfast@%'"),
      1);
}

TEST_F(mariadb_fences, are_no_table_with_a_trigger_or_of_another_shape) {
  server_.ask("CREATE TRIGGER lower BEFORE UPDATE ON holdfast_fences FOR EACH ROW SET NEW.token = 1");
  EXPECT_EQ(failure_of([&] { (void)apply_fence_schema(server_.url()); }).code, errc::foreign_store);
  server_.ask("DROP TRIGGER lower");
  EXPECT_FALSE(apply_fence_schema(server_.url()));
  for (const char* change : {"ENGINE = MyISAM", "ENGINE = InnoDB, DROP PRIMARY KEY"}) {
    server_.ask(std::string{"ALTER TABLE holdfast_fences "} + change);
    EXPECT_EQ(failure_of([&] { (void)apply_fence_schema(server_.url()); }).code, errc::foreign_store)
        << change;
  }
}

TEST_F(mariadb_fences, of_others_are_left_alone) {
  server_.ask("CREATE OR REPLACE PROCEDURE holdfast_fence() SELECT 1");
  const auto refused = failure_of([&] { (void)apply_fence_schema(server_.url()); });
  EXPECT_EQ(refused.code, errc::foreign_store);
  EXPECT_THAT(refused.text, HasSubstr("not Holdfast's"));
}

TEST_F(mariadb_fences, keep_the_late_write_of_a_paused_holder_away) {
  server_.ask("CREATE TABLE stock (units INT)");
  server_.ask("INSERT INTO stock VALUES (10)");
  server_.ask("GRANT ALL ON holdfast.stock TO worker@'%'");
  for (const bool checked : {false, true}) {
    const auto statements = [&](fencing_token token, int units) {
      return "START TRANSACTION; " +
             (checked ? fence("'stock'", std::to_string(token.value())) + "; " : std::string{}) +
             "UPDATE stock SET units = " + std::to_string(units) + "; COMMIT";
    };
    const auto command = [&](fencing_token token, int units) {
      return std::vector<std::string>{
          "mariadb",       "--no-defaults", "--socket=" + server_.socket(),
          "--user=worker", "holdfast",      "--execute=" + statements(token, units)};
    };
    const auto write = [&](fencing_token token) { return command(token, 1); };
    const auto succeed = [&](fencing_token token) { EXPECT_EQ(paused_writer{command(token, 9)}.go_on(), 0); };
    EXPECT_EQ(status_of_late_write(server_.url(), write, succeed), checked ? 1 : 0);
    EXPECT_EQ(server_.number("SELECT units FROM stock"), checked ? 9 : 1);
  }
}

}  // namespace
}  // namespace holdfast::faults
