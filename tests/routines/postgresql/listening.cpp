// SPDX-License-Identifier: Apache-2.0
// Which sessions hear what is notified: the server wakes each of them, for every commit that notifies
// anybody.

#include <gtest/gtest.h>
#include <thread>

#include "routines/postgresql/postgresql_caller.hpp"
#include "routines/tasks.hpp"
#include "support/request_form.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

class postgresql_listening : public testing::Test {
 protected:
  postgresql_listening() {
    EXPECT_EQ(test::number_in(real, "layout"), 2);
    EXPECT_EQ(server.console("holdfast")
                  ->ask("CREATE FUNCTION holdfast_locks_channels() RETURNS bigint LANGUAGE sql "
                        "AS 'SELECT count(*) FROM pg_listening_channels()'"),
              "");
  }
  static postgresql::settings impatient(const test::postgresql_server& server) {
    auto s = test::settings_for(server);
    s.idle_limit = 0s;
    return s;
  }
  std::int64_t channels() {
    return sql::number_at(test::rows_of(real.call({"channels", {}}, test::id(1))).at(0), 0);
  }
  void ask(test::task task, duration ttl) {
    for (auto request : test::tasks_about("stock")) {
      if (request.kind != task) continue;
      request.ttl = ttl;
      test::rows_of(real.call(sql::call_of(request, test::id(1)), test::id(1)));
      return;
    }
    FAIL() << "no such task";
  }

  test::postgresql_server server;
  test::postgresql_caller real{server, impatient(server)};
};

TEST_F(postgresql_listening, are_not_those_that_only_look) {
  EXPECT_EQ(channels(), 0);
  ask(test::task::inspect, 1s);
  EXPECT_EQ(channels(), 0);
}

TEST_F(postgresql_listening, are_those_that_may_have_a_claim) {
  ask(test::task::acquire, 1h);
  EXPECT_EQ(channels(), 1);
  ask(test::task::inspect, 1s);
  EXPECT_EQ(channels(), 1);
}

TEST_F(postgresql_listening, are_no_longer_those_whose_last_claim_is_long_over) {
  ask(test::task::acquire, 1us);
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (channels() > 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_EQ(channels(), 0);
  ask(test::task::acquire, 1h);
  EXPECT_EQ(channels(), 1) << "and again";
}

}  // namespace
}  // namespace holdfast
