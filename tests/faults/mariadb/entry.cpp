// SPDX-License-Identifier: Apache-2.0
// Who is spoken to, who is let in, and what may be made there.

#include <csignal>
#include <future>

#include "faults/faults.hpp"
#include "faults/rotation.hpp"
#include "support/mariadb_server.hpp"

namespace holdfast::faults {
namespace {

using test::mariadb_server;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// What is refused is so at once; what is not may take its time.
failing try_to_lock(const std::string& url, const client_options& options = {}) {
  return failure_of([&] {
    client locks{url, client_options{options}.locks(lock_options{}.retry(retry_policy{}.limit(20s)))};
    mutex{locks, "stock"}.lock();
  });
}

mariadb_server& server() {
  static mariadb_server shared;
  return shared;
}

std::string as(const std::string& user_and_password, const std::string& rest = "/holdfast") {
  return "mysql://" + user_and_password + "@127.0.0.1:" + std::to_string(server().port()) + rest;
}

TEST(mariadb_entry, a_wrong_password_is_told_and_never_shown) {
  const auto wrong = try_to_lock(as("holdfast:tellnobody"));
  EXPECT_EQ(wrong.code, errc::permission_denied) << wrong.text;
  EXPECT_THAT(wrong.text, AllOf(HasSubstr("Access denied"), Not(HasSubstr("tellnobody"))));
  EXPECT_FALSE(try_to_lock(as("holdfast"), client_options{}.password("secret")).code);
}

TEST(mariadb_entry, is_by_the_password_that_is_valid_at_each_login) {
  server().ask("CREATE USER rotating@'%' IDENTIFIED BY 'first'");
  server().ask("GRANT ALL ON holdfast.* TO rotating@'%'");
  expect_rotation(as("rotating", "/holdfast?table=rotated"), "first", [](const std::string& second) {
    server().ask("ALTER USER rotating@'%' IDENTIFIED BY '" + second + '\'');
    server().ask("KILL USER rotating");
  });
}

TEST(mariadb_entry, a_database_that_is_not_there_is_told) {
  const auto missing = try_to_lock(as("root", "/nothing"));
  EXPECT_TRUE(missing.code) << missing.text;
  server().ask("GRANT ALL ON nothing.* TO holdfast@'%'");
  const auto nothing = try_to_lock(as("holdfast:secret", "/nothing"));
  EXPECT_EQ(nothing.code, errc::unavailable) << nothing.text;
  EXPECT_THAT(nothing.text, HasSubstr("create the database"));
}

TEST(mariadb_entry, who_may_not_make_tables_is_told_so_and_works_once_they_are_there) {
  server().ask("CREATE USER worker@'%' IDENTIFIED BY 'w'");
  server().ask("GRANT EXECUTE ON holdfast.* TO worker@'%'");
  const std::string url = as("worker:w", "/holdfast?table=provided");
  const auto refused = try_to_lock(url);
  EXPECT_EQ(refused.code, errc::permission_denied) << refused.text;
  EXPECT_THAT(refused.text, AllOf(HasSubstr("holdfast.provided"), HasSubstr("holdfast schema")));
  EXPECT_FALSE(try_to_lock(as("holdfast:secret", "/holdfast?table=provided")).code);
  EXPECT_FALSE(try_to_lock(url).code);
}

TEST(mariadb_entry, who_may_only_read_the_tables_is_told) {
  ASSERT_FALSE(try_to_lock(as("holdfast:secret", "/holdfast?table=looked_at")).code);
  server().ask("CREATE USER guest@'%' IDENTIFIED BY 'g'");
  server().ask("GRANT SELECT ON holdfast.* TO guest@'%'");
  const auto refused = try_to_lock(as("guest:g", "/holdfast?table=looked_at"));
  EXPECT_EQ(refused.code, errc::permission_denied) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("grant this user"));
}

TEST(mariadb_entry, a_procedure_of_somebody_elses_is_left_alone_and_not_called) {
  server().ask("CREATE TABLE called (times INT)");
  for (const char* part : {"layout", "acquire"}) {
    const std::string name = std::string{"theirs_"} + part;
    server().ask("CREATE PROCEDURE " + name + "() INSERT INTO called VALUES (1)");
    const auto refused = try_to_lock(server().url("?table=theirs"));
    EXPECT_EQ(refused.code, errc::foreign_store) << refused.text;
    EXPECT_THAT(refused.text, AllOf(HasSubstr(name), HasSubstr("table=")));
    EXPECT_EQ(server().ask("SHOW TABLES LIKE 'theirs%'").size(), 0U);
    server().ask("DROP PROCEDURE " + name);
  }
  EXPECT_EQ(server().number("SELECT count(*) FROM called"), 0);
  EXPECT_FALSE(try_to_lock(server().url("?table=theirs")).code);
}

// A procedure that runs with the rights of who calls it: somebody who may make one could have an
// administrator carry out anything, who only looks.
TEST(mariadb_entry, a_procedure_of_another_user_is_not_called_with_the_rights_of_this_one) {
  server().ask("CREATE TABLE secrets (text TEXT)");
  server().ask("CREATE USER mallory@'%' IDENTIFIED BY 'm'");
  server().ask("GRANT CREATE ROUTINE, EXECUTE ON holdfast.* TO mallory@'%'");
  const auto mallory = server().console({"mallory", "m", "holdfast"});
  mallory->ask(
      "CREATE PROCEDURE squatted_layout() MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT 'Holdfast 2' "
      "BEGIN INSERT INTO secrets VALUES ('called'); SELECT 1 AS layout; END");
  const auto refused = try_to_lock(server().url("?table=squatted"));
  EXPECT_EQ(refused.code, errc::permission_denied) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("squatted_layout"));
  EXPECT_EQ(server().number("SELECT count(*) FROM secrets"), 0);
}

// A comment can be forged, and a procedure of a second maker could grant what is held.
TEST(mariadb_entry, a_procedure_of_a_second_maker_is_not_called_and_is_replaced_by_an_administrator) {
  const std::string url = server().url("?table=forged");
  server().ask("CREATE USER eve@'%' IDENTIFIED BY 'e'");
  server().ask("GRANT CREATE ROUTINE, EXECUTE ON holdfast.* TO eve@'%'");
  const auto eve = server().console({"eve", "e", "holdfast"});
  eve->ask("CREATE PROCEDURE forged_release() SQL SECURITY DEFINER COMMENT 'Holdfast 2' SELECT 1");
  const auto early = try_to_lock(url);
  EXPECT_EQ(early.code, errc::permission_denied) << early.text;
  EXPECT_EQ(server().ask("SHOW TABLES LIKE 'forged%'").size(), 0U) << "nothing is made beside it";
  EXPECT_TRUE(apply_schema(url));
  EXPECT_FALSE(try_to_lock(url).code);

  server().ask("DROP PROCEDURE forged_release");
  eve->ask("CREATE PROCEDURE forged_release() SQL SECURITY DEFINER COMMENT 'Holdfast 2' SELECT 1");
  const auto refused = try_to_lock(url);
  EXPECT_EQ(refused.code, errc::permission_denied) << refused.text;
  EXPECT_THAT(refused.text,
              AllOf(HasSubstr("forged_release"), HasSubstr("eve@%"), HasSubstr("holdfast schema")));
  EXPECT_TRUE(apply_schema(url));
  EXPECT_FALSE(try_to_lock(url).code);
}

TEST(mariadb_entry, a_store_of_another_maker_is_taken_over_by_an_administrator) {
  server().ask("CREATE USER early@'%' IDENTIFIED BY 'e'");
  server().ask("GRANT ALL ON holdfast.* TO early@'%'");
  EXPECT_TRUE(apply_schema(as("early:e", "/holdfast?table=early")));
  EXPECT_FALSE(try_to_lock(server().url("?table=early")).code);
  EXPECT_TRUE(apply_schema(server().url("?table=early")));
  EXPECT_FALSE(apply_schema(server().url("?table=early")));
  EXPECT_EQ(
      server().number("SELECT count(*) FROM information_schema.routines WHERE routine_name LIKE 'early%' AND "
                      "definer <> 'holdfast@%'"),
      0);
  EXPECT_FALSE(try_to_lock(as("early:e", "/holdfast?table=early")).code);
}

// Two users make the same store at once.
TEST(mariadb_entry, a_store_has_one_maker) {
  server().ask("CREATE USER twin@'%' IDENTIFIED BY 't'");
  server().ask("GRANT ALL ON holdfast.* TO twin@'%'");
  const auto lock_as_twin = [] { return try_to_lock(as("twin:t", "/holdfast?table=shared")); };
  auto twin = std::async(std::launch::async, lock_as_twin);
  const auto own = try_to_lock(server().url("?table=shared"));
  EXPECT_FALSE(own.code) << own.text;
  const auto other = twin.get();
  EXPECT_FALSE(other.code) << other.text;
  EXPECT_EQ(server().number(
                "SELECT count(DISTINCT definer) FROM information_schema.routines WHERE routine_name LIKE "
                "'shared%'"),
            1);
}

// An older Holdfast of the same layout has made it; a newer one brings it up to date, while it is in use.
TEST(mariadb_entry, procedures_are_brought_up_to_date_in_place) {
  const std::string url = server().url("?table=older");
  ASSERT_FALSE(try_to_lock(url).code);
  server().ask("CREATE USER tenant@'%' IDENTIFIED BY 't'");
  for (const char* part : {"layout", "acquire", "find", "look", "renew", "release", "withdraw", "listen"}) {
    server().ask(std::string{"GRANT EXECUTE ON PROCEDURE older_"} + part + " TO tenant@'%'");
  }
  const std::string tenant = as("tenant:t", "/holdfast?table=older");
  server().ask(
      "CREATE OR REPLACE DEFINER = holdfast@'%' PROCEDURE older_inspect_part(in_name VARBINARY(512), "
      "in_after BIGINT, in_upto "
      "BIGINT, "
      "in_most INT) COMMENT 'Holdfast 2 0123456789abcdef' SELECT 'an error of old' AS token");
  EXPECT_FALSE(try_to_lock(url).code) << "mixed versions of a layout work together";
  EXPECT_EQ(server().number("SELECT count(*) FROM information_schema.routines WHERE routine_comment = "
                            "'Holdfast 2 0123456789abcdef'"),
            1)
      << "clients replace nothing: those of two versions would do it by turns";
  client locks{tenant};
  auto held = mutex{locks, "stock"}.acquire();
  EXPECT_TRUE(apply_schema(url));
  EXPECT_FALSE(apply_schema(url)) << "it is up to date";
  EXPECT_EQ(renew(held), renewal::renewed);
  const client onlooker{url};
  const auto state = onlooker.inspect("stock");
  ASSERT_TRUE(state);
  EXPECT_EQ(state->holders.size(), 1U);
  EXPECT_FALSE(held.release());
  EXPECT_FALSE(try_to_lock(tenant).code) << "rights to the procedures stay";
}

TEST(mariadb_entry, another_layout_is_refused_and_left_alone) {
  const std::string url = server().url("?table=other");
  ASSERT_FALSE(try_to_lock(url).code);
  for (const std::string number : {"1", "3"}) {
    server().ask("CREATE OR REPLACE DEFINER = holdfast@'%' PROCEDURE other_layout() COMMENT 'Holdfast " +
                 number + "' SELECT " + number);
    for (const std::string part : {"locks", "claims", "words", "sweeps"}) {
      server().ask("ALTER TABLE other" + (part == "locks" ? "" : '_' + part) + " COMMENT 'Holdfast " + part +
                   ' ' + number + '\'');
    }
    const auto contents = [] {
      return server().ask(
          "SELECT routine_name, routine_comment, routine_definition FROM information_schema.routines "
          "WHERE routine_name LIKE 'other%' UNION ALL SELECT table_name, table_comment, '' FROM "
          "information_schema.tables WHERE table_name LIKE 'other%' UNION ALL SELECT name, token, granted "
          "FROM "
          "other ORDER BY 1");
    };
    const auto before = contents();
    for (const auto& refused : {try_to_lock(url), try_to_lock(url + "&create=0"),
                                failure_of([&] { static_cast<void>(apply_schema(url)); })}) {
      EXPECT_EQ(refused.code, errc::foreign_store) << refused.text;
      EXPECT_THAT(refused.text, HasSubstr("has layout " + number + ", and this Holdfast needs layout 2"));
    }
    EXPECT_EQ(contents(), before);
  }
}

TEST(mariadb_entry, what_somebody_did_not_come_to_the_end_of_making_is_made) {
  ASSERT_FALSE(try_to_lock(server().url("?table=half")).code);
  server().ask("DROP PROCEDURE half_layout");
  server().ask("DROP PROCEDURE half_release");
  server().ask("DROP TABLE half_words");
  EXPECT_FALSE(try_to_lock(server().url("?table=half")).code);
}

TEST(mariadb_entry, rights_to_each_procedure_are_asked_for_by_name) {
  ASSERT_FALSE(try_to_lock(as("holdfast:secret", "/holdfast?table=granted")).code);
  server().ask("CREATE USER clerk@'%' IDENTIFIED BY 'c'");
  server().ask("GRANT USAGE ON holdfast.* TO clerk@'%'");
  server().ask("GRANT SELECT ON granted_sweeps TO clerk@'%'");  // or it could not even enter the database
  const std::string url = as("clerk:c", "/holdfast?table=granted");
  const auto expect_refusal = [&](const std::string& name) {
    const auto refused = try_to_lock(url);
    EXPECT_EQ(refused.code, errc::permission_denied) << refused.text;
    EXPECT_THAT(refused.text, HasSubstr(name));
  };
  expect_refusal("granted_layout");
  server().ask("GRANT EXECUTE ON PROCEDURE granted_layout TO clerk@'%'");
  server().ask("REVOKE SELECT ON granted_sweeps FROM clerk@'%'");
  expect_refusal("granted_acquire");
  for (const char* part : {"acquire", "find", "look", "renew", "release", "withdraw", "listen"}) {
    server().ask(std::string{"GRANT EXECUTE ON PROCEDURE granted_"} + part + " TO clerk@'%'");
  }
  EXPECT_FALSE(try_to_lock(url).code) << "who may not sweep, nor look on, can lock; no table is needed";
  server().ask("REVOKE EXECUTE ON PROCEDURE granted_acquire FROM clerk@'%'");
  expect_refusal("granted_acquire");
}

TEST(mariadb_entry, rights_taken_from_a_holder_cost_the_lease_at_its_deadline) {
  ASSERT_FALSE(try_to_lock(as("holdfast:secret", "/holdfast?table=taken")).code);
  server().ask("CREATE USER former@'%' IDENTIFIED BY 'f'");
  const auto change_rights = [](const std::string& statement, const std::string& to) {
    for (const char* part : {"layout", "acquire", "find", "look", "renew", "release", "withdraw", "listen"}) {
      server().ask(statement + " EXECUTE ON PROCEDURE taken_" + part + ' ' + to + " former@'%'");
    }
  };
  change_rights("GRANT", "TO");
  client locks{as("former:f", "/holdfast?table=taken")};
  auto held = mutex{locks, "goods", lock_options{}.ttl(1s)}.acquire();
  loss loss_signal{held};
  change_rights("REVOKE", "FROM");
  loss_signal.expect_told();
  EXPECT_FALSE(held.held());
  EXPECT_EQ(failure_of([&] { mutex{locks, "goods"}.lock(); }).code, errc::permission_denied);
  change_rights("GRANT", "TO");
  EXPECT_TRUE(mutex(locks, "goods").try_acquire_for(60s));
}

// The rights of an administrator who has made the procedures pass read_only, and its successor may grant
// already.
TEST(mariadb_entry, a_server_that_is_set_read_only_grants_and_renews_no_more_whoever_has_made_the_store) {
  mariadb_server server;
  server.ask("CREATE USER admin@'%'");
  server.ask("GRANT ALL ON *.* TO admin@'%'");
  {
    client maker{"mysql://admin@127.0.0.1:" + std::to_string(server.port()) + "/holdfast"};
    mutex{maker, "first"}.lock();
  }
  client locks{server.url()};
  client others{server.url()};
  auto held = mutex{locks, "stock", lock_options{}.ttl(1s)}.acquire();
  loss loss_signal{held};
  auto waiting = std::async(std::launch::async, [&] { return mutex{others, "stock", patient()}.acquire(); });
  expect_waiter(locks);
  server.ask("SET GLOBAL read_only = 1");
  const auto rows = [&] {
    return server.ask(
        "SELECT HEX(name), token, expires, HEX(metadata) FROM holdfast_locks_claims ORDER BY 1, 2");
  };
  const auto before = rows();
  const auto refused = failure_of([&] { mutex{locks, "other", hasty()}.lock(); });
  EXPECT_EQ(refused.code, errc::unavailable) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("primary"));
  loss_signal.expect_told();
  EXPECT_EQ(rows(), before) << "it was written to";
  EXPECT_EQ(waiting.wait_for(0s), std::future_status::timeout);
  server.ask("SET GLOBAL read_only = 0");
  EXPECT_GT(waiting.get().token(), held.token());
}

class mariadb_tls : public testing::Test {
 protected:
  [[nodiscard]] std::string at(const std::string& host, const std::string& options) const {
    return "mysql://holdfast:secret@" + host + ':' + std::to_string(secure_.port()) + "/holdfast?" + options;
  }
  [[nodiscard]] std::string trusted() const { return "ca=" + secure_.authority().authority(); }

  mariadb_server secure_{{.tls = "DNS:localhost,IP:127.0.0.1"}};
};

TEST_F(mariadb_tls, locks_for_those_who_know_the_server) {
  secure_.ask("ALTER USER holdfast@'%' REQUIRE SSL");
  for (const char* host : {"localhost", "127.0.0.1"}) {
    const auto locked = try_to_lock(at(host, trusted()));
    EXPECT_FALSE(locked.code) << locked.text;
  }
  EXPECT_EQ(try_to_lock(at("localhost", "tls=0")).code, errc::permission_denied);
}

TEST_F(mariadb_tls, hands_over_as_without_it) {
  client locks{at("localhost", trusted())};
  client others{at("localhost", trusted())};
  auto held = mutex{locks, "stock"}.acquire();
  auto next = std::async(std::launch::async, [&] { return mutex(others, "stock").acquire().token(); });
  expect_waiter(locks);
  const auto first = held.token();
  EXPECT_FALSE(held.release());
  EXPECT_GT(next.get(), first);
}

// The library would have the process ignore SIGPIPE, and what it runs; and OpenSSL raises it.
TEST_F(mariadb_tls, leaves_the_signals_of_the_process_alone) {
  const auto other = start(at("localhost", trusted()), "retry=60000");
  other->hold("stock ttl=60000 retry=60000");
  const std::string status = bytes_of("/proc/" + std::to_string(other->pid()) + "/status");
  const std::string title = "SigIgn:";
  const auto ignored = std::stoull(status.substr(status.find(title) + title.size()), nullptr, 16);
  EXPECT_EQ(ignored >> (SIGPIPE - 1) & 1U, 0U);
  for (int times = 0; times < 3; ++times) {
    secure_.kill();
    secure_.start();
    EXPECT_EQ(other->ask("release"), "released");
    other->hold("stock ttl=60000 retry=60000");
  }
}

TEST_F(mariadb_tls, trusts_no_certificate_whose_authority_it_does_not_know) {
  const auto unknown = try_to_lock(at("localhost", "tls=1"));  // the system's authorities know nothing of it
  EXPECT_EQ(unknown.code, errc::permission_denied) << unknown.text;
  const test::scratch_folder folder;
  const test::certificates other{folder};
  const auto foreign = try_to_lock(at("localhost", "ca=" + other.authority()));
  EXPECT_EQ(foreign.code, errc::permission_denied) << foreign.text;
}

TEST_F(mariadb_tls, trusts_no_certificate_of_another_name_unless_it_is_told_to_look_away) {
  const mariadb_server other{{.tls = "DNS:other.example"}};
  const std::string trusting = "?ca=" + other.authority().authority();
  const auto wrong = try_to_lock(other.url(trusting));
  EXPECT_EQ(wrong.code, errc::permission_denied) << wrong.text;
  EXPECT_FALSE(try_to_lock(other.url(trusting + "&tls_verify=0")).code);
}

TEST_F(mariadb_tls, is_not_given_up_for_plain_text) {
  for (const char* options : {"?tls=1", "?tls=1&tls_verify=0"}) {
    const auto plain = try_to_lock(server().url(options));
    EXPECT_EQ(plain.code, errc::unavailable) << plain.text;
  }
}

TEST(mariadb_urls, that_cannot_be_meant_are_refused) {
  for (const char* url :
       {"mysql://localhost", "mysql:///holdfast", "mysql://h:0/db", "mysql://h:x/db", "mysql://h/a%60b",
        "mysql://h/a'b", "mysql://h/db?table=a-b", "mysql://h/db?table=a.b.c", "mysql://h/db?tables=x",
        "mysql://h/db?ca=/x&tls=0", "mysql://h/db?tls=1&key=/x"}) {
    EXPECT_EQ(failure_of([&] { const client locks{url}; }).code, errc::invalid_url) << url;
  }
}

}  // namespace
}  // namespace holdfast::faults
