// The scenarios of the debate about Redlock: M. Kleppmann, "How to do distributed locking" (2016), and S.
// Sanfilippo (antirez), "Is Redlock safe?" (2016). The clocks are in quorum_clocks.cpp.

#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "faults/faults.hpp"
#include "support/fenced_register.hpp"
#include "support/redis_quorum.hpp"

namespace holdfast::faults {
namespace {

using test::direction;
using test::redis_quorum;

// Kleppmann's figure of two clients and a storage that checks tokens. The pause is that of a whole process.
TEST(redis_quorum_kleppmann, pause_after_the_grant_ends_in_a_write_that_is_refused_by_its_token) {
  redis_quorum servers;
  const test::scratch_folder folder;
  const std::string file = folder.file("storage");
  test::fenced_register storage{file};
  const auto paused = start(servers.url());
  const fencing_token stale = paused->hold("stock ttl=1000");
  paused->tell("write " + file);
  EXPECT_EQ(hear_answer(*paused), "written");
  paused->send(SIGSTOP);
  paused->tell("write " + file);  // what it does next, with no look at the clock before

  client locks{servers.url()};
  auto held = mutex{locks, "stock", patient()}.acquire();
  EXPECT_GT(held.token(), stale);
  EXPECT_TRUE(storage.write(held.token()));
  paused->send(SIGCONT);
  EXPECT_EQ(hear_answer(*paused), "stale");
  EXPECT_EQ(storage.last(), held.token());
  paused->tell("report");
  EXPECT_EQ(hear_answer(*paused), "lost");
  EXPECT_EQ(renew(held), renewal::renewed) << "the process that went on has taken something away";
}

// Without a token nothing would refuse the write: the client believes what it knew before the pause.
TEST(redis_quorum_kleppmann, pause_between_two_holds_of_the_same_client_is_told_apart_by_tokens) {
  redis_quorum servers{{.servers = 3}};
  const test::scratch_folder folder;
  const std::string file = folder.file("storage");
  test::fenced_register storage{file};
  const auto paused = start(servers.url());
  const fencing_token first = paused->hold("stock ttl=1000 fixed");
  paused->send(SIGSTOP);
  client locks{servers.url()};
  {
    const auto held = mutex{locks, "stock", patient()}.acquire();
    EXPECT_TRUE(storage.write(held.token()));
  }
  paused->tell("write " + file);
  paused->send(SIGCONT);
  EXPECT_EQ(hear_answer(*paused), "stale");
  paused->tell("hold stock ttl=60000");
  EXPECT_GT(hear_token(*paused), first);
  paused->tell("write " + file);
  EXPECT_EQ(hear_answer(*paused), "written");
  EXPECT_EQ(storage.refused(), 1);
}

/// Five servers, and a hold that stands on the first three: the last two were cut off at the grant.
class redis_quorum_kleppmann_restart : public testing::Test {
 protected:
  static constexpr std::size_t last_with_the_hold = 2;

  lease hold_on_three(duration ttl, const std::string& guard) {
    url_ = servers_.guarded_url("?restart_guard=" + guard + "&node_timeout=10s");
    for (std::size_t i = 0; i < servers_.size(); ++i) servers_.server(i).forget_start();
    for (const std::size_t i : {3U, 4U}) servers_.line(i).interfere(direction::to_server, {.swallow = true});
    auto held = mutex{client_.emplace(url_), "stock", lock_options{}.ttl(ttl).renewal(false)}.acquire();
    EXPECT_EQ(servers_.holds_of("stock"), 3U);
    return held;
  }
  /// The third server forgets its vote, and the last two are there again.
  void forget_on_the_third() {
    servers_.server(last_with_the_hold).kill();
    servers_.server(last_with_the_hold).start_empty();
    for (const std::size_t i : {3U, 4U}) servers_.line(i).heal();
    EXPECT_EQ(servers_.holds_of("stock"), 2U);
  }
  lease next(duration ttl) {
    return mutex{next_client_.emplace(url_), "stock", lock_options{}.ttl(ttl).retry(patient().retry())}
        .acquire();
  }

  redis_quorum servers_{{.on_lines = true}};
  std::string url_;
  std::optional<client> client_;
  std::optional<client> next_client_;
};

TEST_F(redis_quorum_kleppmann_restart, without_memory_of_one_of_five_lets_nobody_else_in) {
  const auto held = hold_on_three(4s, "4s");
  forget_on_the_third();
  const auto next_one = next(4s);
  EXPECT_FALSE(held.held()) << "two hold";
  EXPECT_GT(next_one.token(), held.token());
}

// The control: what the guard is for. Tokens tell the two holders apart even so.
TEST_F(redis_quorum_kleppmann_restart, without_memory_and_guard_lets_a_second_client_in) {
  const test::scratch_folder folder;
  test::fenced_register storage{folder.file("storage")};
  const auto held = hold_on_three(60s, "0");
  EXPECT_TRUE(storage.write(held.token()));
  forget_on_the_third();
  const auto next_one = next(60s);
  EXPECT_TRUE(held.held());
  EXPECT_TRUE(next_one.held());
  EXPECT_TRUE(storage.write(next_one.token()));
  EXPECT_FALSE(storage.write(held.token()));
}

/// The answers of a majority come later than a ttl after the requests.
class redis_quorum_antirez : public testing::Test {
 protected:
  static constexpr auto ttl = 600ms;

  void slow_down() {
    for (const std::size_t i : {0U, 2U, 4U})
      servers_.line(i).interfere(direction::to_client, {.delay = 3 * ttl});
  }
  [[nodiscard]] std::size_t said_by_slow_ones() {
    std::size_t bytes = 0;
    for (const std::size_t i : {0U, 2U, 4U}) bytes += servers_.line(i).passed(direction::to_client);
    return bytes;
  }
  void heal() {
    for (std::size_t i = 0; i < servers_.size(); ++i) servers_.line(i).heal();
  }

  redis_quorum servers_{{.on_lines = true}};
  // The silence is longer than the delay: it is the validity that ends.
  std::string url_ = servers_.url("?node_timeout=20s");
};

TEST_F(redis_quorum_antirez, answers_slower_than_the_validity_grant_nothing) {
  client locks{url_};
  EXPECT_FALSE(mutex(locks, "stock", patient()).acquire().release());  // it is connected
  slow_down();
  mutex lock{locks, "stock", lock_options{}.ttl(ttl).retry(retry_policy{}.limit(6s).longest(50ms))};
  std::optional<lease> held;
  const auto failed = failure_of([&] { held = lock.try_acquire(); });
  EXPECT_FALSE(held);
  EXPECT_TRUE(failed.code == errc::unavailable || failed.code == errc::unknown_outcome) << failed.text;
  failure_of([&] { held = lock.try_acquire_for(6 * ttl); });
  EXPECT_FALSE(held);
  heal();
  EXPECT_TRUE(mutex(locks, "stock", patient()).acquire().held());
}

TEST_F(redis_quorum_antirez, answers_slower_than_the_validity_renew_nothing) {
  client locks{url_};
  auto held = mutex{locks, "stock", lock_options{}.ttl(ttl).retry(patient().retry())}.acquire();
  loss loss_signal{held};
  const auto before = said_by_slow_ones();
  slow_down();
  EXPECT_EQ(loss_signal.wait().reason, errc::lost);
  EXPECT_FALSE(held.held());
  await([&] { return said_by_slow_ones() != before; }, "the late answers do not come");
  EXPECT_FALSE(held.held()) << "an answer after the deadline has made it a hold again";
  heal();
  EXPECT_GT(mutex(locks, "stock", patient()).acquire().token(), held.token());
}

}  // namespace
}  // namespace holdfast::faults
