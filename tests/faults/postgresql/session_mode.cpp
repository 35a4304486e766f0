// SPDX-License-Identifier: Apache-2.0
// mode=session, as far as it is PostgreSQL's own; see server_session_mode.cpp.

#include "faults/postgresql/on_postgresql.hpp"

namespace holdfast::faults {
namespace {

using testing::HasSubstr;

class postgresql_session_mode : public on_postgresql {};

TEST_F(postgresql_session_mode, live_whatever_a_role_has_for_those_who_are_idle) {
  ASSERT_EQ(server_.ask("ALTER ROLE holdfast SET idle_session_timeout = '1s'"), "");
  client locks{server_.url("?mode=session")};
  const auto held = mutex{locks, "stock", lock_options{}.ttl(1h)}.acquire();
  const auto idle = server_.console("holdfast");  // is ended while ours says nothing
  ASSERT_EQ(idle->ask("SELECT 1"), "1");
  await([&] { return sessions() == 1; }, "the server ends nobody");
  EXPECT_TRUE(held.held());
  EXPECT_FALSE(mutex(locks, "stock").try_lock());
}

TEST(postgresql_session_url, says_what_there_is) {
  const auto refused = [](const std::string& options) {
    return failure_of([&] { client{"postgresql://localhost/?" + options}; });
  };
  for (const char* options : {"mode=row", "mode=sessions", "mode=", "session_timeout=30s",
                              "mode=table&session_timeout=30s", "mode=session&session_timeout=999ms",
                              "mode=session&session_timeout=61m", "mode=session&pooler=session"}) {
    EXPECT_EQ(refused(options).code, errc::invalid_url) << options;
  }
  EXPECT_THAT(refused("mode=row").text, testing::AllOf(HasSubstr("mode=table"), HasSubstr("mode=session")));
}

}  // namespace
}  // namespace holdfast::faults
