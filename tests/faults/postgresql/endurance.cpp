// Many clients one after the other, and nothing that grows with them, on either side.

#include <cstdio>

#include "faults/postgresql/on_postgresql.hpp"
#include "support/amount.hpp"

namespace holdfast::faults {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool counts_memory = false;  // a sanitizer keeps what was freed
#else
constexpr bool counts_memory = true;
#endif

struct both_sides {
  long resident_kib = 0;
  int descriptors = 0;
  int threads = 0;
  std::int64_t rows = 0;
  std::int64_t locks = 0;
  std::size_t server_processes = 0;
  std::int64_t pages = 0;
};

class postgresql_endurance : public on_postgresql {
 protected:
  /// Once the server has seen the last of them go.
  both_sides look() {
    both_sides now;
    EXPECT_EQ(std::sscanf(other_.ask("usage").c_str(), "usage %ld %d %d", &now.resident_kib, &now.descriptors,
                          &now.threads),
              3);
    await([&] { return sessions() == 0; }, "somebody has not gone");
    now.rows = server_.number(
        "SELECT (SELECT count(*) FROM holdfast_locks) + (SELECT count(*) FROM holdfast_locks_claims)");
    now.locks = server_.number("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'");
    now.server_processes = server_.processes().size();
    now.pages = server_.number("SELECT pg_total_relation_size('holdfast_locks') / 8192");
    return now;
  }

  actor other_;
};

TEST_F(postgresql_endurance, hundreds_of_clients_leave_nothing_behind) {
  const int cycles = counts_memory ? test::amount(60, 600) : 100;  // each of them a process of the server's
  ASSERT_EQ(other_.ask("clients " + server_.url() + ' ' + std::to_string(test::amount(30, 100))), "cycled");
  const auto before = look();
  ASSERT_EQ(other_.ask("clients " + server_.url() + ' ' + std::to_string(cycles), 150s), "cycled");
  const auto after = look();
  EXPECT_EQ(after.descriptors, before.descriptors);
  EXPECT_EQ(after.threads, before.threads);
  if (counts_memory) {
    EXPECT_LE(after.resident_kib, before.resident_kib + 1024);
  }
  EXPECT_EQ(after.rows, before.rows);
  EXPECT_EQ(after.locks, 0);
  EXPECT_LE(after.server_processes, before.server_processes + 2) << "its housekeeping comes and goes";
  EXPECT_LE(after.pages, before.pages + 16) << "dead rows are not used again";
}

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
