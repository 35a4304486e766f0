// SPDX-License-Identifier: Apache-2.0
// Many turns of one client, and nothing that grows with them at the server.

#include "faults/endurance.hpp"

#include <cstdio>

#include "faults/postgresql/on_postgresql.hpp"

namespace holdfast::faults {
namespace {

class postgresql_endurance : public on_postgresql {
 protected:
  actor other_;
};

TEST_F(postgresql_endurance, ten_thousand_turns_of_one_client_leave_nothing_behind) {
  ASSERT_EQ(other_.ask("open " + server_.url()), "open");
  ASSERT_EQ(other_.ask("cycle stock 500"), "cycled");
  const auto session = [&](const std::string& column) {
    return server_.number("SELECT " + column + " FROM pg_stat_activity WHERE usename = 'holdfast'");
  };
  const auto backend = session("max(pid)");
  const auto memory = [&] {
    long pages = 0;
    long resident = 0;
    std::sscanf(bytes_of("/proc/" + std::to_string(backend) + "/statm").c_str(), "%ld %ld", &pages,
                &resident);
    return resident * 4;
  };
  const auto before = memory();
  const auto rows = server_.number("SELECT count(*) FROM holdfast_locks");
  ASSERT_EQ(
      other_.ask("cycle stock " + std::to_string(counts_memory ? test::amount(1'000, 10'000) : 1'000), 150s),
      "cycled");
  EXPECT_EQ(session("count(*)"), 1);
  EXPECT_EQ(session("max(pid)"), backend);
  EXPECT_EQ(server_.number("SELECT count(*) FROM holdfast_locks"), rows);
  EXPECT_LE(memory(), before + 4096) << "the session grows at the server";
  EXPECT_EQ(other_.ask("close"), "closed");
  EXPECT_EQ(server_.number("SELECT count(*) FROM holdfast_locks_claims"), 0);
}

}  // namespace
}  // namespace holdfast::faults
