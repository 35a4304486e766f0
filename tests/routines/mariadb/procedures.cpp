// SPDX-License-Identifier: Apache-2.0
// What the procedures leave in the tables, and what their answers do not tell: those are compared with the
// model by `mariadb_model.*`.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <utility>
#include <vector>

#include "routines/mariadb/procedure_fixture.hpp"

namespace holdfast::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using row = mariadb_console::row;

class procedures : public testing::Test {
 protected:
  /// The name's living claims, as `inspect_part` returns them.
  procedure_fixture::rows living_of(const std::string& name) {
    procedure_fixture::rows all =
        at.call("inspect_part", procedure_fixture::literal(name) + ", 0, 9223372036854775807, 100");
    std::erase_if(all, [](const row& each) { return each.back() != "1"; });
    return all;
  }

  procedure_fixture at;
};

TEST_F(procedures, tokens_are_the_servers_time_and_rise) {
  const auto before = at.console().number("SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)");
  const auto first = at.token_of(at.acquire("stock", 1));
  const auto after = at.console().number("SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)");
  EXPECT_LE(before, first);
  EXPECT_LE(first, after);
  at.ask("UPDATE {locks} SET token = token + 3600000000");  // a clock that was ahead, and was set back
  EXPECT_EQ(at.token_of(at.acquire("stock", 2)), first + 3'600'000'001);
}

// A client that ends before it has fetched them would leave them for an hour.
TEST_F(procedures, notifications_go_with_what_their_client_learns_or_does_otherwise) {
  const auto name = procedure_fixture::literal("stock");
  const auto notifications = [&] { return at.ask("SELECT count(*) FROM {words}").at(0).at(0); };
  const auto first = at.acquire("stock", 1).at(1);
  const auto second = at.acquire("stock", 2).at(1);
  const auto third = at.acquire("stock", 3).at(1);
  at.call("release", name + ", " + procedure_fixture::id(1) + ", " + first);
  EXPECT_EQ(notifications(), "1");
  at.call("look", name + ", " + procedure_fixture::id(2) + ", " + second + ", 60000000");
  EXPECT_EQ(notifications(), "0");
  at.call("release", name + ", " + procedure_fixture::id(2) + ", " + second);
  EXPECT_EQ(notifications(), "1");
  at.call("release", name + ", " + procedure_fixture::id(3) + ", " + third);
  EXPECT_EQ(notifications(), "0");
}

/// Each statement of a call opens its tables anew, and costs the server more than all else in the call: 10 to
/// 40 us.
TEST_F(procedures, have_few_statements) {
  const auto name = procedure_fixture::literal("stock");
  const auto opened = [&] {
    return at.console().number(
        "SELECT CAST(variable_value AS SIGNED) FROM information_schema.session_status WHERE "
        "variable_name = 'TABLE_OPEN_CACHE_HITS'");
  };
  const auto opened_by = [&](const auto& call) {
    const auto before = opened();
    call();
    return opened() - before;
  };
  const auto release = [&](int owner, const std::string& token) {
    at.call("release", name + ", " + procedure_fixture::id(owner) + ", " + token);
  };
  const auto look = [&](int owner, const std::string& token) {
    at.call("look", name + ", " + procedure_fixture::id(owner) + ", " + token + ", 60000000");
  };
  std::string first;
  std::string second;
  const auto hand_over = [&] {
    first = at.acquire("stock", 1).at(1);
    second = at.acquire("stock", 2).at(1);
    release(1, first);
    look(2, second);
    release(2, second);
  };
  hand_over();  // so that the session knows the tables, and the store the name
  EXPECT_LE(opened_by([&] { release(1, at.acquire("stock", 1).at(1)); }), 7);
  EXPECT_LE(opened_by(hand_over), 28);
}

/// A batch of holds as `renew` takes it.
std::string batch_of(const std::vector<std::pair<std::string, std::int64_t>>& holds) {
  std::string all = "CONCAT(";
  for (const auto& [name, token] : holds) {
    all += "unhex(lpad(hex(" + std::to_string(name.size()) + "), 4, '0')), " +
           procedure_fixture::literal(name) + ", " + procedure_fixture::id(1) + ", unhex(lpad(hex(" +
           std::to_string(token) +
           "), 16, '0')), unhex(lpad(hex(90000000), "
           "16, '0')), ";
  }
  return all + "'')";
}

TEST_F(procedures, a_row_that_somebody_keeps_locked_costs_no_other_hold) {
  std::vector<std::pair<std::string, std::int64_t>> holds;
  for (const char* name : {"a", "b", "c", "d"}) holds.emplace_back(name, at.token_of(at.acquire(name, 1)));
  holds[2].second += 1;  // and one that is lost
  const auto left = [&](const std::string& name) { return std::stoll(living_of(name).at(0).at(7)); };
  for (const char* table : {"{locks}", "{claims}"}) {
    auto other = at.connect();
    other->ask("START TRANSACTION");
    other->ask(at.names().fill(std::string{"SELECT 1 FROM "} + table + " WHERE name = 'b' FOR UPDATE"));
    at.ask("UPDATE {claims} SET expires = expires - 40000000 WHERE name <> 'b'");
    EXPECT_EQ(at.call("renew", batch_of(holds)), (procedure_fixture::rows{{"1201"}})) << table;
    EXPECT_GT(left("a"), 60'000'000);
    EXPECT_GT(left("d"), 60'000'000);
    other->ask("ROLLBACK");
    EXPECT_EQ(at.call("renew", batch_of(holds)), (procedure_fixture::rows{{"1101"}}));
    EXPECT_EQ(at.console().value("SELECT @@SESSION.innodb_lock_wait_timeout"), "2");
  }
}

TEST_F(procedures, a_lowered_writer_lets_readers_in_and_may_be_lowered_again) {
  const auto writer = at.acquire("stock", 1);
  at.acquire("stock", 2, "TRUE", 1);
  const auto lower =
      procedure_fixture::literal("stock") + ", " + procedure_fixture::id(1) + ", " + writer.at(1) + ", 1";
  EXPECT_THAT(at.call("downgrade", lower), ElementsAre(row{"1"}));
  EXPECT_THAT(at.call("downgrade", lower), ElementsAre(row{"1"}));
  EXPECT_EQ(at.ask("SELECT count(*) FROM {words}"), (procedure_fixture::rows{{"1"}}));
}

TEST_F(procedures, a_claim_that_waits_is_not_lowered) {
  at.acquire("stock", 1);
  const auto waits = at.acquire("stock", 2);
  EXPECT_THAT(at.call("downgrade", procedure_fixture::literal("stock") + ", " + procedure_fixture::id(2) +
                                       ", " + waits.at(1) + ", 1"),
              ElementsAre(row{"0"}));
}

// The holder was granted the name just now, and its look comes between.
TEST_F(procedures, a_request_to_release_outlives_the_look_of_its_holder) {
  const auto name = procedure_fixture::literal("stock");
  const auto first = at.acquire("stock", 1).at(1);
  const auto second = at.acquire("stock", 2).at(1);
  at.call("release", name + ", " + procedure_fixture::id(1) + ", " + first);
  at.call("request_release", name + ", 0, 9223372036854775807, 'maintenance'");
  at.call("look", name + ", " + procedure_fixture::id(2) + ", " + second + ", 60000000");
  EXPECT_THAT(at.ask("SELECT token FROM {words}"), ElementsAre(row{"-9223372036854775807"}));
}

/// As a client of mode=session calls them, on a connection that lives, or has ended.
TEST_F(procedures, claims_of_sessions_that_are_over_count_for_nothing) {
  const auto claim = [&](mariadb_console& on, int owner, int client) {
    return at
        .call(on, "acquire",
              procedure_fixture::literal("stock") + ", " + procedure_fixture::id(owner) + ", " +
                  procedure_fixture::id(client) + ", 1073741824, 1073741824, 4611686018487387904, '{}', TRUE")
        .at(0);
  };
  const auto begin = [&](int client) {
    auto session = at.connect();
    session->ask("SET @holdfast_session = " + procedure_fixture::id(client));
    session->ask("DO GET_LOCK(CONCAT('holdfast-calls:', LOWER(HEX(" + procedure_fixture::id(client) +
                 "))), 0)");
    return session;
  };
  const auto end = [&](std::unique_ptr<mariadb_console>& session, int client) {
    session.reset();
    while (at.console().value("SELECT IS_FREE_LOCK(CONCAT('holdfast-calls:', LOWER(HEX(" +
                              procedure_fixture::id(client) + "))))") != "1") {
    }
  };
  auto first = begin(1);
  auto second = begin(2);
  auto third = begin(3);
  const row held = claim(*first, 11, 1);
  EXPECT_THAT((row{held.begin() + 2, held.end()}), ElementsAre("1", "1", "NULL"));
  const row waits = claim(*second, 12, 2);
  EXPECT_THAT((row{waits.begin() + 2, waits.end()}), ElementsAre("0", "1", "NULL"))
      << "no time at which it ends";
  const row behind = claim(*third, 13, 3);
  EXPECT_EQ(living_of("stock").size(), 3U);
  EXPECT_EQ(living_of("stock").at(0).at(7), "60000000");
  // Only the session that made it keeps it, or finds it.
  const auto look = procedure_fixture::literal("stock") + ", " + procedure_fixture::id(13) + ", " +
                    behind.at(1) + ", 4611686018487387904";
  EXPECT_THAT(at.call(*second, "look", look), IsEmpty());
  EXPECT_THAT(
      at.call(*second, "find", procedure_fixture::literal("stock") + ", " + procedure_fixture::id(13)),
      IsEmpty());
  EXPECT_EQ(at.call(*third, "look", look).size(), 1U);

  end(second, 2);
  end(first, 1);
  EXPECT_EQ(living_of("stock").size(), 1U);
  EXPECT_EQ(at.call("list_part", "FALSE, '', 0, 4, 100").at(0).at(3), "0");
  EXPECT_EQ(at.call(*third, "look", look).at(0).at(2), "1");  // the first by now; and served
  EXPECT_EQ(at.call(*third, "look", look).at(0).at(1), "1");
  EXPECT_EQ(at.ask("SELECT count(*) FROM {claims}"), (procedure_fixture::rows{{"1"}}));

  // Another that waits gets it with what the session leaves.
  at.acquire("stock", 14);
  end(third, 3);
  at.call("abandon", procedure_fixture::id(3));
  EXPECT_EQ(at.ask("SELECT hex(c.owner) = hex(" + procedure_fixture::id(14) +
                   ") FROM {claims} c JOIN {locks} l ON c.name = l.name AND c.token <= l.granted"),
            (procedure_fixture::rows{{"1"}}));
}

TEST_F(procedures, a_sweep_forgets_idle_names_dead_claims_and_old_words_in_bounded_steps) {
  for (int i = 0; i < 10; ++i) {
    const std::string name(1, static_cast<char>('0' + i));
    const auto made = at.acquire(name, 1);
    if (i != 5)
      at.call("release",
              procedure_fixture::literal(name) + ", " + procedure_fixture::id(1) + ", " + made.at(1));
  }
  at.acquire("z", 1);
  at.ask("UPDATE {claims} SET expires = 1 WHERE name = 'z'");
  at.ask("UPDATE {locks} SET token = 1000, granted = 1000 WHERE name NOT IN ('3', 'z')");
  for (int i = 0; i < 10; ++i) {
    at.ask("INSERT INTO {words} VALUES (" + procedure_fixture::id(i) + ", " + procedure_fixture::id(2) +
           ", 3, 4)");
  }
  int steps = 1;
  while (at.call("sweep", "1000000000, 3600000000, 4") == procedure_fixture::rows{{"1"}}) ++steps;
  EXPECT_EQ(steps, 6);  // 4 + 4 + 3 names, 4 + 4 + 2 notifications
  EXPECT_EQ(at.ask("SELECT name FROM {locks} ORDER BY name"), (procedure_fixture::rows{{"3"}, {"5"}, {"z"}}));
  EXPECT_EQ(at.ask("SELECT name FROM {claims} ORDER BY name"), (procedure_fixture::rows{{"5"}}));
  EXPECT_EQ(at.ask("SELECT count(*) FROM {words}"), (procedure_fixture::rows{{"0"}}));
  // Not again within the hour.
  at.ask("UPDATE {locks} SET token = 1000 WHERE name = '3'");
  EXPECT_EQ(at.call("sweep", "1000000000, 3600000000, 4"), (procedure_fixture::rows{{"0"}}));
  EXPECT_EQ(at.ask("SELECT count(*) FROM {locks} WHERE name = '3'"), (procedure_fixture::rows{{"1"}}));
}

TEST_F(procedures, what_a_killed_call_had_begun_is_not_committed_by_the_next) {
  auto victim = at.connect();
  victim->ask("START TRANSACTION");
  victim->ask(at.names().fill("INSERT INTO {locks} VALUES ('half', 1, 1, 1, 1)"));
  at.call(*victim, "release", procedure_fixture::literal("other") + ", " + procedure_fixture::id(1) + ", 1");
  EXPECT_EQ(at.ask("SELECT count(*) FROM {locks} WHERE name = 'half'"), (procedure_fixture::rows{{"0"}}));
}

}  // namespace
}  // namespace holdfast::test
