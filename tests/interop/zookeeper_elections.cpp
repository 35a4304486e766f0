// SPDX-License-Identifier: Apache-2.0
// Elections with Curator's LeaderLatch and kazoo's Election: one leader at a time, whoever is killed, stopped
// or loses its session.

#include <csignal>
#include <functional>
#include <future>
#include <gmock/gmock.h>
#include <iostream>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <boost/asio/use_future.hpp>

#include "interop/contention.hpp"
#include "interop/curator.hpp"
#include "interop/kazoo.hpp"
#include "support/child_process.hpp"
#include "support/scratch_folder.hpp"
#include "support/witness.hpp"
#include "support/zookeeper_server.hpp"
#include <holdfast/async.hpp>

namespace holdfast::interop {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

/// A session that is short enough to be waited for.
constexpr const char* short_session = "timeout=4000";

std::int64_t lead_blocking(const place& here) {
  client locks{here.url};
  election boss{locks, "boss"};
  test::witness inside{here.file};
  std::int64_t turns = 0;
  for (; here.open(turns); ++turns) {
    auto held = boss.campaign("ours");
    inside.visit(mode::exclusive, held.token());
    EXPECT_TRUE(held.held()) << "lost without reason";
    EXPECT_FALSE(held.resign());
  }
  return turns;
}

std::int64_t lead_asynchronously(const place& here) {
  client locks{here.url};
  election boss{locks, "boss"};
  test::witness inside{here.file};
  std::int64_t turns = 0;
  for (; here.open(turns); ++turns) {
    auto held = boss.async_campaign("ours", boost::asio::use_future).get();
    inside.visit(mode::exclusive, held.token());
    async_resign(std::move(held), boost::asio::use_future).get();
  }
  return turns;
}

std::int64_t lead_by_command(const place& here) {
  std::int64_t turns = 0;
  for (; here.open(turns); ++turns) {
    test::child_process run{{HOLDFAST_COMMAND, "elect", "boss", "--once", "--store", here.url, "--", "sh",
                             "-c", "echo visit " + here.file + " | " HOLDFAST_TEST_ACTOR},
                            {}};
    EXPECT_EQ(run.wait(60s), 0);
  }
  return turns;
}

class zookeeper_elections : public testing::Test {
 protected:
  template <class Other>
  void contend(const std::string& kind, const std::string& options) {
    const auto length = contention_time() + 8s;  // a session ends meanwhile
    const place here{server_.url(options), folder_.file("witness"), boot_clock::now() + length};
    std::list<Other> others;
    for (int each = 0; each < 4; ++each) {
      others.emplace_back(server_.address());
      others.back().tell("contend " + kind + " /boss " + here.file + ' ' + std::to_string(length.count()));
    }
    const auto disturbed = std::async(std::launch::async, [&] {
      do {
        stop_and_kill_ours(here.url);
        if (std::is_same_v<Other, curator>) kill_latch();
      } while (boot_clock::now() + 12s < here.end);
    });
    std::vector<std::future<std::int64_t>> ours;
    for (const auto& lead : {lead_blocking, lead_blocking, lead_asynchronously, lead_by_command}) {
      ours.push_back(std::async(std::launch::async, lead, std::cref(here)));
    }
    std::int64_t total = 0;
    for (auto& each : ours) {
      ASSERT_EQ(each.wait_for(length + 60s), std::future_status::ready) << "ours hang";
      total += each.get();
    }
    const auto of_ours = total;
    for (auto& each : others) total += turns_in(each.hear());
    std::cout << total << " terms, " << of_ours << " of them ours\n";
    EXPECT_EQ(witness_.overlaps(), 0);
    EXPECT_EQ(witness_.count(), total);
    EXPECT_EQ(witness_.fragile_count(), total);
  }

  // Leaders that are no witnesses: one that is stopped may be inside when the next one comes.

  void stop_and_kill_ours(const std::string& url) {
    test::child_process ours{{HOLDFAST_COMMAND, "elect", "boss", "--value", "disturbed", "--ttl", "4s",
                              "--store", url, "--", "sleep", "1000"},
                             {}};
    ASSERT_TRUE(sees_leader("disturbed"));
    ours.send(SIGSTOP);
    EXPECT_TRUE(sees_another_than("disturbed")) << "its session ends";
    ours.send(SIGCONT);
    EXPECT_TRUE(sees_leader("disturbed")) << "it campaigns again";
    ours.send(SIGKILL);
    EXPECT_TRUE(sees_another_than("disturbed"));
  }
  void kill_latch() {
    curator java{server_.address(), short_session};
    ASSERT_EQ(java.ask("lock latch /boss"), "locked");
    java.kill();
  }

  /// Whether it comes true, by the watch of a client of its own.
  bool sees(const std::function<bool(const std::optional<candidate>&)>& is_so) {
    client locks{server_.url()};
    std::promise<void> seen;
    bool done = false;
    const auto observer = election{locks, "boss"}.observe([&](const observation& each) {
      if (done || each.failed || !is_so(each.leader)) return;
      done = true;
      seen.set_value();
    });
    return seen.get_future().wait_for(60s) == std::future_status::ready;
  }
  bool sees_leader(const std::string& value) {
    return sees([&](const auto& leader) { return leader && leader->value == value; });
  }
  bool sees_another_than(const std::string& value) {
    return sees([&](const auto& leader) { return !leader || leader->value != value; });
  }
  std::vector<candidate> participants() {
    client locks{server_.url()};
    return election{locks, "boss"}.participants();
  }
  bool sees_participants(std::size_t count) {
    client locks{server_.url()};
    for (const auto end = boot_clock::now() + 60s; boot_clock::now() < end;) {
      if (election{locks, "boss"}.participants().size() == count) return true;
      std::this_thread::yield();
    }
    return false;
  }

  test::zookeeper_server server_;
  test::scratch_folder folder_;
  test::witness witness_{folder_.file("witness")};
};

TEST_F(zookeeper_elections, of_leader_latches_and_ours_have_one_leader_at_a_time) {
  contend<curator>("latch", "");
}

TEST_F(zookeeper_elections, of_kazoo_and_ours_have_one_leader_at_a_time) {
  contend<kazoo>("election", "?layout=kazoo");
}

TEST_F(zookeeper_elections, show_the_participants_of_all_libraries) {
  curator java{server_.address()};
  EXPECT_EQ(java.ask("lock latch /boss"), "locked");
  client locks{server_.url()};
  auto waiting =
      std::async(std::launch::async, [&] { return election{locks, "boss"}.campaign("10.0.0.7:8080"); });
  ASSERT_TRUE(sees_participants(2));
  const auto all = participants();
  EXPECT_TRUE(all[0].leads);
  EXPECT_EQ(all[0].value, "java") << "the id of the latch";
  EXPECT_GT(all[0].token, fencing_token{});
  EXPECT_EQ(all[1].value, "10.0.0.7:8080");
  EXPECT_FALSE(all[1].leads);
  // Curator shows the value as the first line of our id.
  EXPECT_THAT(java.ask("participants latch /boss"),
              StartsWith("participants java=leader 10.0.0.7%3A8080%0Aholdfast+1+"));
  EXPECT_EQ(java.ask("unlock"), "unlocked");
  auto held = waiting.get();
  EXPECT_GT(held.token(), all[0].token);
  EXPECT_THAT(java.ask("participants latch /boss"), StartsWith("participants 10.0.0.7%3A8080%0Aholdfast+1+"));
  held.proclaim("10.0.0.7:8081");
  EXPECT_THAT(java.ask("participants latch /boss"), StartsWith("participants 10.0.0.7%3A8081%0Aholdfast+1+"));
  EXPECT_TRUE(held.held());
}

TEST_F(zookeeper_elections, follow_a_leader_latch_that_is_killed) {
  auto java = std::make_unique<curator>(server_.address(), short_session);
  EXPECT_EQ(java->ask("lock latch /boss"), "locked");
  client locks{server_.url()};
  auto waiting = std::async(std::launch::async, [&] { return election{locks, "boss"}.campaign("ours"); });
  ASSERT_TRUE(sees_participants(2));
  java->kill();
  ASSERT_EQ(waiting.wait_for(60s), std::future_status::ready);
  EXPECT_TRUE(waiting.get().held());
}

TEST_F(zookeeper_elections, are_followed_by_a_leader_latch_when_they_are_killed) {
  test::child_process ours{{HOLDFAST_COMMAND, "elect", "boss", "--value", "ours", "--ttl", "4s", "--store",
                            server_.url(), "--", "sleep", "1000"},
                           {}};
  ASSERT_TRUE(sees_leader("ours"));
  curator java{server_.address()};
  java.tell("lock latch /boss");
  ASSERT_TRUE(sees_participants(2));
  ours.send(SIGKILL);
  EXPECT_EQ(java.hear(), "locked");
  EXPECT_TRUE(sees_leader("java"));
}

// Its session ends while it is stopped. It leads no more when it goes on.
TEST_F(zookeeper_elections, follow_a_leader_latch_that_is_stopped) {
  curator java{server_.address(), short_session};
  EXPECT_EQ(java.ask("lock latch /boss"), "locked");
  client locks{server_.url()};
  auto waiting = std::async(std::launch::async, [&] { return election{locks, "boss"}.campaign("ours"); });
  ASSERT_TRUE(sees_participants(2));
  java.send(SIGSTOP);
  ASSERT_EQ(waiting.wait_for(60s), std::future_status::ready);
  auto held = waiting.get();
  EXPECT_TRUE(held.held());
  java.send(SIGCONT);
  // The latch makes a new node, which stands behind ours.
  ASSERT_TRUE(sees_participants(2));
  EXPECT_TRUE(held.held());
  EXPECT_EQ(participants()[0].value, "ours");
  EXPECT_FALSE(held.resign());
  EXPECT_TRUE(sees_leader("java"));
}

}  // namespace
}  // namespace holdfast::interop
