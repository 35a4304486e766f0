// SPDX-License-Identifier: Apache-2.0
// Many clients at the same moment, where nothing is there yet: neither the tables nor the name.

#include <barrier>
#include <gmock/gmock.h>
#include <mutex>
#include <thread>

#include "routines/postgresql/postgresql_caller.hpp"
#include "routines/tasks.hpp"
#include <holdfast/holdfast.hpp>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using test::postgresql_server;
using testing::HasSubstr;
using testing::Not;

constexpr int client_count = 32;
constexpr int rounds = 5;

/// The tokens in the order in which the holders had them.
std::vector<std::uint64_t> storm(const postgresql_server& server, const std::string& table) {
  std::barrier together{client_count};
  std::mutex written;
  std::vector<std::uint64_t> tokens;
  std::vector<std::jthread> clients;
  clients.reserve(client_count);
  for (int i = 0; i < client_count; ++i) {
    clients.emplace_back([&] {
      together.arrive_and_wait();
      client locks{server.url("?table=" + table + "&connect_timeout=60s&answer_timeout=60s"),
                   client_options{}.locks(lock_options{}.retry(retry_policy{}.limit(60s)))};
      mutex one{locks, "new"};
      for (int round = 0; round < rounds; ++round) {
        const std::scoped_lock hold{one};
        const std::lock_guard note{written};
        tokens.push_back(one.token().value());
      }
    });
  }
  clients.clear();
  return tokens;
}

void expect_order(const std::vector<std::uint64_t>& tokens) {
  EXPECT_EQ(tokens.size(), client_count * rounds);
  for (std::size_t i = 1; i < tokens.size(); ++i) EXPECT_GT(tokens[i], tokens[i - 1]) << i;
}

class postgresql_contention : public testing::TestWithParam<const char*> {};

/// With what a database's administrator may have set for others.
TEST_P(postgresql_contention, come_to_a_new_table_and_a_new_name_at_once) {
  postgresql_server server;
  const std::string isolation = GetParam();
  ASSERT_EQ(server.ask("ALTER ROLE holdfast SET default_transaction_isolation = '" + isolation + '\''), "");
  ASSERT_EQ(server.console("holdfast")->ask("SHOW transaction_isolation"), isolation);
  expect_order(storm(server, "locks"));
  expect_order(storm(server, "public.others"));
  // Nobody was refused anything: not even what is tried again without a word. On a machine that stands still
  // for a second a call may wait that long for the row, and is sent again.
  const std::string late = "ERROR:  canceling statement due to lock timeout";
  std::string log = server.log();
  for (auto at = log.find(late); at != std::string::npos; at = log.find(late)) log.erase(at, late.size());
  EXPECT_THAT(log, Not(HasSubstr("ERROR")));
  EXPECT_THAT(server.log(), Not(HasSubstr("deadlock")));
}

INSTANTIATE_TEST_SUITE_P(isolation, postgresql_contention,
                         testing::Values("read committed", "repeatable read", "serializable"),
                         [](const auto& of) {
                           std::string name = of.param;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

TEST(postgresql_sessions, are_read_committed_whatever_is_usual) {
  postgresql_server server;
  ASSERT_EQ(server.ask("ALTER ROLE holdfast SET default_transaction_isolation = 'serializable'"), "");
  ASSERT_EQ(server.ask("CREATE FUNCTION holdfast_locks_isolation() RETURNS text LANGUAGE sql VOLATILE AS "
                       "'SELECT current_setting(''transaction_isolation'')'"),
            "");
  test::postgresql_caller real{server};
  const auto answer = real.call({"isolation", {}}, test::id(200));
  EXPECT_EQ(sql::text_at(test::rows_of(answer).at(0), 0), "read committed");
}

}  // namespace
}  // namespace holdfast
