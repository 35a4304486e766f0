// SPDX-License-Identifier: Apache-2.0
// Those who watch, where the server begins late to tell of changes.

#include <atomic>
#include <csignal>

#include "faults/postgresql/on_postgresql.hpp"
#include "support/fault_proxy.hpp"

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
  EXPECT_EQ(other->ask("BEGIN; SELECT holdfast_locks_changed('stock')"), "");
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

/// Watches of single names, and the server's words to who watches.
class postgresql_watching_names : public postgresql_watching {
 protected:
  postgresql_watching_names() { EXPECT_FALSE(mutex(locks_, "stock").acquire().release()); }
  [[nodiscard]] std::string far_url() const {
    return "postgresql://holdfast@127.0.0.1:" + std::to_string(line_.port()) + "/holdfast";
  }
  std::int64_t bucket_of(const std::string& name) {
    return server_.number("SELECT (hashtext('" + name + "') & 127) + 1");
  }
  /// A name of another bucket than `of`, or of the same.
  std::string name_beside(const std::string& of, bool same_bucket) {
    const auto bucket = bucket_of(of);
    for (int i = 0;; ++i) {
      auto name = "name " + std::to_string(i);
      if ((bucket_of(name) == bucket) == same_bucket) return name;
    }
  }
  bool watches_names() {
    return server_.ask(
               "SELECT count(*) FROM holdfast_locks_sweeps WHERE holdfast_locks_now() < ANY "
               "(watched_names)") == "1";
  }
  void change(const std::string& name, int times = 1) {
    client others{server_.url()};
    mutex lock{others, name};
    for (int i = 0; i < times; ++i) EXPECT_FALSE(lock.acquire().release());
  }
  /// A reply comes behind the notifications that were sent before the request.
  std::size_t heard_after_a_reply(const client& onlooker) {
    (void)onlooker.inspect("no such name");
    return line_.passed(test::direction::to_client);
  }

  test::fault_proxy line_{server_.port()};
};

TEST_F(postgresql_watching_names, cost_no_byte_for_names_of_other_buckets) {
  const auto other = name_beside("stock", false);
  const client onlooker{far_url() + "?answer_timeout=1s"};
  (void)onlooker.inspect("stock");
  const auto watch = onlooker.watch("stock", [&] { ++calls_; });
  await([&] { return watches_names(); }, "it does not begin");
  // Except for one look at what was in progress when it began, which comes within an answer_timeout.
  await(
      [&] {
        const auto first = heard_after_a_reply(onlooker);
        const auto before = heard_after_a_reply(onlooker);
        change(other, 50);
        return heard_after_a_reply(onlooker) - before == before - first;
      },
      "it is told of other names");
  const int seen = calls_;
  change("stock");
  await([&] { return calls_ > seen; }, "it is told of nothing");
}

// Hashes meet: those who watch the other name look, and are not called.
TEST_F(postgresql_watching_names, call_nobody_for_a_name_of_the_same_bucket) {
  const auto other = name_beside("stock", true);
  const auto watch = locks_.watch("stock", [&] { ++calls_; });
  await([&] { return watches_names(); }, "it does not begin");
  std::atomic<int> others = 0;
  const auto both = locks_.watch(other, [&] { ++others; });
  await([&] { return calls_ > 0 && others > 0; }, "they are not called at the beginning");
  // Twice, because a call for the first change could come behind that of the other name. Again, where the
  // first calls of both watches were still to come.
  const auto change_and_hear = [&] {
    const int before = others;
    change(other);
    await([&] { return others > before; }, "it is told of nothing");
  };
  await(
      [&] {
        const int seen = calls_;
        change_and_hear();
        change_and_hear();
        return calls_ == seen;
      },
      "it is called for the other name");
}

// Commits that notify wait for one another, so those of other names do not notify.
TEST_F(postgresql_watching_names, have_no_commit_notify_but_those_of_their_buckets) {
  const auto other = name_beside("stock", false);
  const auto watch = locks_.watch("stock", [&] { ++calls_; });
  await([&] { return watches_names(); }, "it does not begin");
  const auto listener = server_.console();
  EXPECT_EQ(listener->ask("SELECT count(*) FROM holdfast_locks_watch_name('stock')"), "1");
  EXPECT_EQ(listener->ask("SELECT count(*) FROM holdfast_locks_watch()"), "1");
  EXPECT_EQ(server_.ask("UPDATE holdfast_locks_sweeps SET watched = 0"), "");
  const auto page = [&] { return server_.ask("SELECT pg_notification_queue_usage()"); };
  EXPECT_EQ(listener->ask("BEGIN"), "");  // what is notified stays in the queue until its end
  const auto before = page();
  change(other, 200);
  EXPECT_EQ(page(), before);
  change("stock", 200);
  await([&] { return page() != before; }, "no commit has notified");
  EXPECT_EQ(listener->ask("ROLLBACK"), "");
}

TEST_F(postgresql_watching_names, leave_the_channel_of_a_name_that_nobody_watches_any_more) {
  const auto listens = [&](const client& onlooker, const std::string& name) {
    const auto before = heard_after_a_reply(onlooker);
    const auto reply = heard_after_a_reply(onlooker) - before;
    EXPECT_EQ(
        server_.ask(
            "SELECT pg_notify(c || '_' || " + std::to_string(bucket_of(name)) + ", '" +
            std::to_string(bucket_of(name)) +
            "') FROM (SELECT substring(prosrc FROM 'holdfast_changed_[0-9]+') FROM pg_proc WHERE proname "
            "= 'holdfast_locks_watch') s(c)"),
        "");
    return heard_after_a_reply(onlooker) != before + 2 * reply;
  };
  const auto other = name_beside("stock", false);
  const client onlooker{far_url() + "?answer_timeout=1s"};
  auto stays = onlooker.watch(other, [] {});
  auto watch = onlooker.watch("stock", [] {});
  await([&] { return watches_names(); }, "it does not begin");
  await([&] { return listens(onlooker, "stock"); }, "it does not listen");
  watch.reset();
  await([&] { return !listens(onlooker, "stock"); }, "it goes on to listen");
  EXPECT_TRUE(listens(onlooker, other));
}

TEST_F(postgresql_watching_names, go_on_over_a_new_connection) {
  const client onlooker{far_url()};
  const auto watch = onlooker.watch("stock", [&] { ++calls_; });
  await([&] { return watches_names(); }, "it does not begin");
  for (int round = 0; round < 3; ++round) {
    const int before = calls_;
    line_.cut_all(test::ending::reset);
    change("stock");
    await([&] { return calls_ > before; }, "it is told of nothing");
  }
}

}  // namespace
}  // namespace holdfast::faults
