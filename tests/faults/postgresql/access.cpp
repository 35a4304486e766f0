// SPDX-License-Identifier: Apache-2.0
// Who is let in, to what, and how the server proves that it is the right one.

#include "faults/postgresql/on_postgresql.hpp"
#include "faults/rotation.hpp"

namespace holdfast::faults {
namespace {

using testing::HasSubstr;
using testing::Not;

failing try_to_lock(const std::string& url, const lock_options& options = patient()) {
  return failure_of([&] {
    client locks{url};
    mutex{locks, "stock", options}.lock();
  });
}
constexpr const char* in_order = "it did not fail";

TEST(postgresql_access, is_by_password_from_the_url_or_from_the_options) {
  postgresql_server server{{.password = "open sesame/@:"}};
  const std::string place = "127.0.0.1:" + std::to_string(server.port()) + "/holdfast";
  EXPECT_EQ(try_to_lock("postgresql://holdfast:open%20sesame%2F%40%3A@" + place).text, in_order);
  EXPECT_EQ(try_to_lock("postgresql://" + place + "?user=holdfast&password=open%20sesame%2F%40%3A").text,
            in_order);
  client locks{"postgresql://holdfast@" + place, client_options{}.password("open sesame/@:")};
  EXPECT_NO_THROW(mutex(locks, "other").lock());
}

TEST(postgresql_access, is_by_the_password_that_is_valid_at_each_login) {
  postgresql_server server{{.password = "first"}};
  expect_rotation(
      "postgresql://holdfast:never@127.0.0.1:" + std::to_string(server.port()) + "/holdfast", "first",
      [&](const std::string& second) {
        server.ask("ALTER ROLE holdfast PASSWORD '" + second + '\'');
        server.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'holdfast'");
      });
}

TEST(postgresql_access, is_refused_at_once_and_tells_no_password) {
  postgresql_server server{{.password = "open sesame"}};
  const std::string place = "127.0.0.1:" + std::to_string(server.port());
  for (const std::string user : {"holdfast@", "holdfast:wrong-hunter2@", "nobody:wrong-hunter2@"}) {
    const auto refused = try_to_lock("postgresql://" + user + place + "/holdfast", endless());
    EXPECT_EQ(refused.code, errc::permission_denied) << refused.text;
    EXPECT_THAT(refused.text, Not(HasSubstr("hunter2")));
    EXPECT_THAT(refused.text, HasSubstr(place));
    EXPECT_THAT(refused.text,
                HasSubstr(user.substr(0, user.find_first_of(":@")) == "nobody" ? "nobody" : "password"));
  }
  EXPECT_THAT(server.log(), Not(HasSubstr("hunter2")));
}

TEST(postgresql_access, knows_refusals_in_every_language) {
  // Sentences that nobody here can read: what counts is the code.
  postgresql_server server{{.password = "open sesame"}};
  const std::string place = "127.0.0.1:" + std::to_string(server.port());
  server.ask("ALTER SYSTEM SET lc_messages = 'de_DE.UTF-8'; SELECT pg_reload_conf()");
  const auto refused = try_to_lock("postgresql://holdfast:wrong@" + place + "/holdfast", {});
  EXPECT_EQ(refused.code, errc::permission_denied) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("28P01"));
}

TEST(postgresql_access, needs_a_database_that_is_there) {
  postgresql_server server;
  const auto missing =
      try_to_lock("postgresql://holdfast@127.0.0.1:" + std::to_string(server.port()) + "/nowhere", endless());
  EXPECT_EQ(missing.code, errc::unavailable) << missing.text;
  EXPECT_THAT(missing.text, HasSubstr("nowhere"));
  EXPECT_THAT(missing.text, HasSubstr("create the database, or name another"));
}

/// A user "guest" who may do less than our own.
class postgresql_rights : public on_postgresql {
 protected:
  postgresql_rights() { EXPECT_EQ(server_.ask("CREATE ROLE guest LOGIN; CREATE SCHEMA shelf"), ""); }
  [[nodiscard]] std::string guest(const std::string& options = {}) const {
    return "postgresql://guest@127.0.0.1:" + std::to_string(server_.port()) + "/holdfast" + options;
  }
  void make_tables() {
    client owner{server_.url()};
    EXPECT_FALSE(mutex(owner, "stock").acquire().release());
  }
  void expect_refusal(const std::string& url, const std::vector<std::string>& parts) {
    const auto refused = try_to_lock(url, endless());
    EXPECT_EQ(refused.code, errc::permission_denied) << refused.text;
    for (const auto& part : parts) EXPECT_THAT(refused.text, HasSubstr(part));
  }
};

TEST_F(postgresql_rights, to_make_the_tables_are_asked_for_where_they_are_missing) {
  server_.ask("REVOKE CREATE ON SCHEMA public FROM PUBLIC");
  expect_refusal(guest(), {"holdfast_locks", "holdfast schema", "--apply", "schema public"});
  EXPECT_EQ(server_.number("SELECT count(*) FROM pg_class WHERE relname LIKE 'holdfast%'"), 0);
  EXPECT_EQ(server_.number("SELECT count(*) FROM pg_proc WHERE proname LIKE 'holdfast%'"), 0);
}

TEST_F(postgresql_rights, to_a_schema_are_asked_for_by_its_name) {
  expect_refusal(guest("?table=shelf.locks"), {"shelf", "holdfast schema"});
}

TEST_F(postgresql_rights, to_lock_are_rights_to_execute_and_none_to_a_table) {
  make_tables();
  expect_refusal(guest(), {"permission denied for function holdfast_locks_acquire", "holdfast schema"});
  (void)apply_schema(server_.url("?grant_lock=guest,holdfast"));
  client owner{server_.url()};
  client locks{guest()};
  auto held = mutex{locks, "stock"}.acquire();
  auto next = std::async(std::launch::async, [&] { return mutex{owner, "stock"}.acquire(); });
  expect_waiter(locks);
  EXPECT_EQ(held.renew(), renewal::renewed);
  EXPECT_FALSE(held.release());
  EXPECT_FALSE(next.get().release());
  EXPECT_EQ(locks.list(true).size(), 1U);
  EXPECT_EQ(locks.force_release("stock"), 0U);
  const auto by_hand = server_.console("guest");
  for (const std::string table : {"holdfast_locks", "holdfast_locks_claims", "holdfast_locks_sweeps"}) {
    EXPECT_THAT(by_hand->ask("SELECT FROM " + table), testing::StartsWith("-42501"));
    EXPECT_THAT(by_hand->ask("DELETE FROM " + table), testing::StartsWith("-42501"));
  }
  EXPECT_THAT(by_hand->ask("SELECT holdfast_locks_serve('stock', 0, 0, 0, 0)"), testing::StartsWith("-42501"))
      << "a part of others, which grants without asking";
}

TEST_F(postgresql_rights, of_default_privileges_are_taken_from_what_is_new) {
  EXPECT_EQ(
      server_.ask("ALTER DEFAULT PRIVILEGES FOR ROLE holdfast GRANT ALL ON TABLES TO guest WITH GRANT OPTION;"
                  "ALTER DEFAULT PRIVILEGES FOR ROLE holdfast GRANT EXECUTE ON FUNCTIONS TO guest"),
      "");
  make_tables();
  const auto by_hand = server_.console("guest");
  for (const std::string table : {"holdfast_locks", "holdfast_locks_claims", "holdfast_locks_sweeps"}) {
    for (const std::string& statement :
         {"SELECT FROM " + table, "DELETE FROM " + table,
          "CREATE TRIGGER t BEFORE UPDATE ON " + table +
              " FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()"})
      EXPECT_THAT(by_hand->ask(statement), testing::StartsWith("-42501")) << statement;
  }
  EXPECT_THAT(by_hand->ask("SELECT holdfast_locks_serve('stock', 0, 0, 0, 0)"),
              testing::StartsWith("-42501"));
  expect_refusal(guest(), {"permission denied for function holdfast_locks_acquire"});

  EXPECT_EQ(server_.ask("GRANT SELECT ON holdfast_locks TO guest; DROP FUNCTION holdfast_locks_renew"), "");
  EXPECT_TRUE(apply_schema(server_.url("?grant_lock=guest")));
  EXPECT_EQ(by_hand->ask("SELECT FROM holdfast_locks LIMIT 0"), "") << "a right that was granted since";
  EXPECT_EQ(try_to_lock(guest()).text, in_order);
}

TEST_F(postgresql_rights, to_look_are_enough_for_that_alone) {
  (void)apply_schema(server_.url("?grant_look=guest"));
  client owner{server_.url()};
  auto held = mutex{owner, "stock"}.acquire();
  client locks{guest()};
  EXPECT_EQ(locks.list().size(), 1U);
  EXPECT_TRUE(locks.inspect("stock"));
  std::atomic<int> calls = 0;
  const auto watch = locks.watch([&] { ++calls; });
  await([&] { return server_.ask("SELECT count(*) FROM holdfast_locks_sweeps WHERE watched > 0") == "1"; },
        "it does not watch");
  const int seen = calls;
  EXPECT_FALSE(held.release());
  await([&] { return calls > seen; }, "it is notified of nothing");
  EXPECT_EQ(failure_of([&] { mutex{locks, "stock", hasty()}.lock(); }).code, errc::permission_denied);
  EXPECT_EQ(failure_of([&] { (void)locks.force_release("stock"); }).code, errc::permission_denied);
}

TEST_F(postgresql_rights, are_granted_by_what_is_printed) {
  const std::string text = schema("postgresql://somewhere/?table=public.holdfast_locks&grant_lock=guest");
  EXPECT_EQ(server_.ask(text), "");
  EXPECT_EQ(try_to_lock(guest()).text, in_order) << "of tables of a superuser";
  for (const char* roles : {"", "a,,b", "a\"b", "a'b"}) {
    EXPECT_EQ(
        failure_of([&] { (void)schema(std::string{"postgresql://somewhere/?grant_lock="} + roles); }).code,
        errc::invalid_url)
        << roles;
  }
  EXPECT_EQ(failure_of([] { client{"postgresql://somewhere/?grant_lock=guest"}; }).code, errc::invalid_url);
}

TEST_F(postgresql_rights, to_a_single_routine_can_be_taken_away) {
  (void)apply_schema(server_.url("?grant_lock=guest"));
  server_.ask("REVOKE EXECUTE ON FUNCTION holdfast_locks_evict FROM guest");
  EXPECT_EQ(try_to_lock(guest()).text, in_order);
  client locks{guest()};
  EXPECT_EQ(failure_of([&] { (void)locks.force_release("stock"); }).code, errc::permission_denied);
}

// Somebody takes a right away from those who hold already.
TEST_F(postgresql_rights, taken_from_a_holder_cost_the_lease_at_its_deadline) {
  (void)apply_schema(server_.url("?grant_lock=guest"));
  client locks{guest()};
  auto held = mutex{locks, "stock", lock_options{}.ttl(1s)}.acquire();
  loss loss_signal{held};
  server_.ask("REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA public FROM guest");
  loss_signal.expect_told();
  EXPECT_FALSE(held.held());
  EXPECT_EQ(failure_of([&] { mutex{locks, "stock"}.lock(); }).code, errc::permission_denied);
  (void)apply_schema(server_.url("?grant_lock=guest"));
  EXPECT_TRUE(mutex(locks, "stock").try_acquire_for(60s));
}

class postgresql_tls : public testing::Test {
 protected:
  [[nodiscard]] std::string at(const std::string& host, const std::string& options) const {
    return "postgresql://holdfast@" + host + ":" + std::to_string(server_.port()) + "/holdfast?" + options;
  }
  [[nodiscard]] std::string our_pair() const {
    return "&sslcert=" + server_.client_pair().certificate + "&sslkey=" + server_.client_pair().key;
  }
  [[nodiscard]] std::string trusted() const {
    return "sslmode=verify-full&sslrootcert=" + server_.authority().authority();
  }

  postgresql_server server_{{.tls = true}};
};

TEST_F(postgresql_tls, locks_for_those_who_know_the_server_and_are_known_to_it) {
  for (const char* host : {"localhost", "127.0.0.1"}) {
    EXPECT_EQ(try_to_lock(at(host, trusted() + our_pair())).text, in_order) << host;
  }
  EXPECT_EQ(try_to_lock(server_.tls_url("?table=other")).text, in_order);
}

TEST_F(postgresql_tls, trusts_no_certificate_whose_authority_it_does_not_know) {
  const test::scratch_folder folder;
  const test::certificates other{folder};
  for (const std::string mode : {"verify-full", "verify-ca"}) {
    const auto foreign = try_to_lock(
        at("localhost", "sslmode=" + mode + "&sslrootcert=" + other.authority() + our_pair()), endless());
    EXPECT_EQ(foreign.code, errc::permission_denied) << foreign.text;
    EXPECT_THAT(foreign.text, HasSubstr("certificate"));
  }
  const auto nowhere =
      try_to_lock(at("localhost", "sslmode=verify-full&sslrootcert=/nowhere/ca.pem" + our_pair()), endless());
  EXPECT_EQ(nowhere.code, errc::permission_denied) << nowhere.text;
  EXPECT_THAT(nowhere.text, HasSubstr("/nowhere/ca.pem"));
}

TEST_F(postgresql_tls, trusts_no_certificate_of_another_name) {
  // The same server, by a name that its certificate does not have.
  const auto wrong = try_to_lock(at("other.example", trusted() + our_pair() + "&hostaddr=127.0.0.1"), {});
  EXPECT_EQ(wrong.code, errc::permission_denied) << wrong.text;
  EXPECT_THAT(wrong.text, HasSubstr("other.example"));
}

TEST_F(postgresql_tls, needs_a_certificate_where_the_server_asks_for_one) {
  const auto nobody = try_to_lock(at("localhost", trusted()), {});
  EXPECT_EQ(nobody.code, errc::permission_denied) << nobody.text;
  const test::scratch_folder folder;
  const test::certificates other{folder};
  const auto forged = other.issue("client", "DNS:client");
  const auto foreign = try_to_lock(
      at("localhost", trusted() + "&sslcert=" + forged.certificate + "&sslkey=" + forged.key), hasty());
  EXPECT_NE(foreign.text, in_order);
}

TEST_F(postgresql_tls, is_not_given_up_for_plain_text) {
  const auto plain = try_to_lock(at("localhost", "sslmode=disable"), {});
  EXPECT_EQ(plain.code, errc::permission_denied) << plain.text;
  postgresql_server without;
  const auto secure = try_to_lock(
      "postgresql://holdfast@localhost:" + std::to_string(without.port()) + "/holdfast?" + trusted(), {});
  EXPECT_EQ(secure.code, errc::unavailable) << secure.text;
  EXPECT_THAT(secure.text, HasSubstr("SSL"));
  EXPECT_EQ(without.number("SELECT count(*) FROM pg_class WHERE relname LIKE 'holdfast%'"), 0);
}

}  // namespace
}  // namespace holdfast::faults
