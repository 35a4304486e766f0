// SPDX-License-Identifier: Apache-2.0
// Users of one server: one who owns the store, and those with the least rights.

#include <memory>
#include <vector>

#include "faults/faults.hpp"
#include "support/mariadb_server.hpp"

namespace holdfast::faults {
namespace {

using test::mariadb_console;
using test::mariadb_error;
using test::mariadb_server;

class mariadb_rights : public testing::Test {
 protected:
  mariadb_rights() {
    {
      client owner{server_.url()};
      mutex{owner, "first"}.lock();
    }
    for (const char* statement :
         {"CREATE USER alice@'%'", "CREATE USER bob@'%'", "GRANT EXECUTE ON holdfast.* TO alice@'%'",
          "GRANT EXECUTE ON holdfast.* TO bob@'%'", "CREATE USER reader@'%'",
          "GRANT SELECT ON holdfast.* TO reader@'%'", "CREATE USER stranger@'%'",
          "CREATE TABLE unrelated (x INT)", "GRANT SELECT ON holdfast.unrelated TO stranger@'%'"}) {
      server_.ask(statement);
    }
  }
  [[nodiscard]] std::string url_of(const std::string& user, const std::string& options = {}) const {
    return "mysql://" + user + "@127.0.0.1:" + std::to_string(server_.port()) + "/holdfast" + options;
  }
  /// Whether the server lets it.
  static bool can(mariadb_console& console, const std::string& statement) {
    try {
      console.ask(statement);
      return true;
    } catch (const mariadb_error&) {
      return false;
    }
  }

  mariadb_server server_;
};

// A monitor sees statements of others, and with them ids of clients. By an id it can be the next to have the
// lock by which a client finds its former session.
TEST_F(mariadb_rights, to_see_statements_of_others_cost_no_lease) {
  server_.ask("CREATE USER monitor@'%'");
  server_.ask("GRANT PROCESS ON *.* TO monitor@'%'");
  client locks{server_.url()};
  auto held = mutex{locks, "stock"}.acquire();
  const std::string lock =
      "'holdfast-calls:" +
      server_.ask("SELECT LOWER(HEX(client)) FROM holdfast.holdfast_locks_claims WHERE name = 'stock'")
          .at(0)
          .at(0) +
      '\'';
  const auto monitor = server_.console({"monitor", "", ""});
  const auto user = [&] {
    return "SELECT user FROM information_schema.processlist WHERE id = IS_USED_LOCK(" + lock + ')';
  };
  ASSERT_EQ(server_.ask(user()).at(0).at(0), "holdfast");
  auto queued =
      std::async(std::launch::async, [&] { return monitor->number("SELECT GET_LOCK(" + lock + ", 60)"); });
  await(
      [&] {
        return server_.number(
                   "SELECT count(*) FROM information_schema.processlist WHERE user = 'monitor' AND state "
                   "= 'User lock'") == 1;
      },
      "it does not queue");
  server_.ask("KILL HARD CONNECTION " + server_.ask("SELECT IS_USED_LOCK(" + lock + ')').at(0).at(0));
  ASSERT_EQ(queued.get(), 1);
  for (int breaks = 0; breaks < 2; ++breaks) {
    EXPECT_EQ(renew(held), renewal::renewed);
    EXPECT_EQ(server_.ask(user()).at(0).at(0), "monitor");
    server_.ask("KILL HARD USER holdfast");
  }
  EXPECT_EQ(renew(held), renewal::renewed);
}

TEST_F(mariadb_rights, to_call_the_procedures_are_all_that_locking_needs) {
  client alice{url_of("alice")};
  const auto bob = start(url_of("bob"));
  auto held = mutex{alice, "stock"}.acquire();
  bob->tell("hold stock");
  expect_waiter(alice);
  EXPECT_EQ(renew(held), renewal::renewed);
  const auto first = held.token();
  EXPECT_FALSE(held.release());
  EXPECT_GT(token_in(bob->hear()), first);
  EXPECT_EQ(alice.list().size(), 1U);
  const auto console = server_.console({"alice", "", "holdfast"});
  for (const char* table : {"", "_claims", "_words", "_sweeps"}) {
    EXPECT_FALSE(can(*console, std::string{"SELECT * FROM holdfast_locks"} + table)) << table;
    EXPECT_FALSE(can(*console, std::string{"DELETE FROM holdfast_locks"} + table)) << table;
  }
  EXPECT_EQ(bob->ask("release"), "released");
}

// By a notification, and not by its own next look, after most of a second.
TEST_F(mariadb_rights, to_wake_one_another_are_those_to_call_the_procedures) {
  const auto take_turns = [this](const std::string& user) {
    client locks{url_of(user)};
    mutex lock{locks, "stock"};
    for (int turn = 0; turn < 60; ++turn) const std::scoped_lock held{lock};
  };
  const test::stall_meter meter;
  const auto began = boot_clock::now();
  {
    const std::jthread alice{take_turns, "alice"};
    const std::jthread bob{take_turns, "bob"};
  }
  EXPECT_LT(boot_clock::now() - began, meter.stretched(30s, began));
}

TEST_F(mariadb_rights, of_those_who_may_not_lock_end_no_lease_and_forge_no_grant) {
  client alice{url_of("alice")};
  auto held = mutex{alice, "stock"}.acquire();
  const auto bob = start(url_of("bob"));
  bob->tell("hold stock");
  expect_waiter(alice);
  // In a procedure a session goes by its maker.
  const auto sessions_now = [&] {
    return server_.ask(
        "SELECT id FROM information_schema.processlist WHERE user IN ('alice', 'bob', 'holdfast')");
  };
  await([&] { return sessions_now().size() == 4; }, "not each client has two sessions");
  const auto sessions = sessions_now();
  for (const char* user : {"reader", "stranger"}) {
    const auto intruder = server_.console({user, "", "holdfast"});
    for (const auto& session : sessions) {
      EXPECT_FALSE(can(*intruder, "KILL " + session.at(0))) << user;
      EXPECT_FALSE(can(*intruder, "KILL QUERY " + session.at(0))) << user;
    }
    EXPECT_FALSE(can(*intruder, "CALL holdfast_locks_evict('stock', 0, 9223372036854775807)")) << user;
    EXPECT_FALSE(can(*intruder,
                     "INSERT INTO holdfast_locks_words SELECT client, owner, token, since FROM "
                     "holdfast_locks_claims"))
        << user;
    EXPECT_FALSE(can(*intruder, "DELETE FROM holdfast_locks_claims")) << user;
    EXPECT_FALSE(can(*intruder, "UPDATE holdfast_locks SET granted = token")) << user;
  }
  EXPECT_EQ(renew(held), renewal::renewed);
  EXPECT_EQ(alice.inspect("stock")->waiters.size(), 1U);
  EXPECT_FALSE(held.release());
  EXPECT_TRUE(token_in(bob->hear()));
}

}  // namespace
}  // namespace holdfast::faults
