// SPDX-License-Identifier: Apache-2.0
// Many sessions at the same moment.

#include <algorithm>
#include <barrier>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mutex>
#include <set>
#include <thread>

#include "routines/mariadb/procedure_fixture.hpp"

namespace holdfast::test {
namespace {

class mariadb_contention : public testing::TestWithParam<std::string> {
 protected:
  procedure_fixture at;
};

/// Each new to all of them. Nobody is a deadlock's victim, since nobody ever waits with a lock in hand.
TEST_P(mariadb_contention, come_to_a_new_name_without_a_deadlock_or_a_lost_token) {
  constexpr int sessions = 32;
  constexpr int names = 25;
  std::barrier start{sessions};
  std::mutex mutex;
  std::vector<std::vector<std::int64_t>> tokens(names);
  std::vector<int> granted(names);
  std::vector<std::string> errors;
  {
    std::vector<std::jthread> all;
    all.reserve(sessions);
    for (int s = 0; s < sessions; ++s) {
      all.emplace_back([&, s] {
        const auto own = at.connect();
        own->ask("SET SESSION TRANSACTION ISOLATION LEVEL " + GetParam());
        own->ask("SET SESSION innodb_lock_wait_timeout = 60");  // they do wait for one another
        for (int n = 0; n < names; ++n) {
          start.arrive_and_wait();
          try {
            const auto placed =
                at.call(*own, "acquire",
                        procedure_fixture::literal(std::string(1, static_cast<char>('a' + n))) + ", " +
                            procedure_fixture::id(s) + ", " + procedure_fixture::id(200 + s) +
                            ", 1073741824, 1073741824, 60000000, '{}', TRUE")
                    .at(0);
            const std::lock_guard hold{mutex};
            tokens[static_cast<std::size_t>(n)].push_back(std::stoll(placed.at(1)));
            granted[static_cast<std::size_t>(n)] += placed.at(2) == "1" ? 1 : 0;
          } catch (const mariadb_error& e) {
            const std::lock_guard hold{mutex};
            errors.emplace_back(e.what());
          }
        }
      });
    }
  }
  EXPECT_THAT(errors, testing::IsEmpty());
  EXPECT_THAT(granted, testing::Each(1));
  for (const auto& of_one : tokens) {
    EXPECT_EQ(std::set<std::int64_t>(of_one.begin(), of_one.end()).size(), of_one.size());
  }
}

INSTANTIATE_TEST_SUITE_P(at, mariadb_contention, testing::Values("READ COMMITTED", "REPEATABLE READ"),
                         [](const auto& of) {
                           std::string name = of.param;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

}  // namespace
}  // namespace holdfast::test
