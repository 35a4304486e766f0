// Those who watch, where the server begins late to tell of changes.

#include <atomic>
#include <csignal>

#include "faults/postgresql/on_postgresql.hpp"

namespace holdfast::faults {
namespace {

class postgresql_watching : public on_postgresql {
 protected:
  bool watches() {
    return server_.ask("SELECT count(*) FROM holdfast_locks_sweeps WHERE watched > holdfast_locks_now()") ==
           "1";
  }

  client locks_{server_.url()};
  std::atomic<int> calls_ = 0;
};

TEST_F(postgresql_watching, are_told_of_what_happened_before_they_were_heard) {
  EXPECT_FALSE(locks_.inspect("stock"));
  ASSERT_EQ(sessions(), 1);
  const auto backend =
      static_cast<::pid_t>(server_.number("SELECT pid FROM pg_stat_activity WHERE usename = 'holdfast'"));
  ::kill(backend, SIGSTOP);
  const auto watch = locks_.watch([&] { ++calls_; });
  await([&] { return calls_ > 0; }, "it is not called at the beginning");
  client others{server_.url()};
  EXPECT_FALSE(mutex(others, "stock").acquire().release());
  const int seen = calls_;
  ::kill(backend, SIGCONT);
  await([&] { return calls_ > seen; }, "it is told of nothing");
}

// Two who come first may both be about to make the tables, and one of them watch soon.
TEST_F(postgresql_watching, hold_up_nobody_who_makes_the_tables) {
  EXPECT_FALSE(mutex(locks_, "stock").acquire().release());
  const auto watch = locks_.watch([&] { ++calls_; });
  await([&] { return watches(); }, "it does not begin");
  EXPECT_EQ(server_.ask("DROP FUNCTION holdfast_locks_untrack"), "");
  client others{server_.url("?connect_timeout=60s")};
  EXPECT_TRUE(mutex(others, "stock", patient()).try_lock_for(50s));
  EXPECT_EQ(server_.number("SELECT count(*) FROM pg_proc WHERE proname = 'holdfast_locks_untrack'"), 1);
}

// A transaction that has found nobody to tell, and is not over yet.
TEST_F(postgresql_watching, are_told_of_what_was_under_way_when_it_began) {
  EXPECT_FALSE(mutex(locks_, "stock").acquire().release());
  const auto other = server_.console();
  EXPECT_EQ(other->ask("BEGIN; SELECT holdfast_locks_changed()"), "");
  const auto watch = locks_.watch([&] { ++calls_; });
  await([&] { return watches(); }, "it does not begin");
  std::this_thread::sleep_for(300ms);  // what it is told of until then has been told
  const int seen = calls_;
  EXPECT_EQ(other->ask("COMMIT"), "");
  await([&] { return calls_ > seen; }, "it is told of nothing");
}

// Who watched and is gone, or stopped, has others' commits notify for a minute at most.
TEST_F(postgresql_watching, say_so_again_before_the_server_forgets_it) {
  EXPECT_FALSE(mutex(locks_, "stock").acquire().release());
  const auto watch = locks_.watch([&] { ++calls_; });
  await([&] { return watches(); }, "it does not begin");
  const auto until = [&] { return server_.number("SELECT watched FROM holdfast_locks_sweeps"); };
  EXPECT_LE(until(), server_.number("SELECT holdfast_locks_now()") + 60'000'000);
  const auto first = until();
  await([&] { return until() > first; }, "it lets the server forget it");
}

}  // namespace
}  // namespace holdfast::faults
