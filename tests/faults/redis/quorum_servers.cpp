// SPDX-License-Identifier: Apache-2.0
// Several independent servers, of which some stand still, die, or come back without their memory.

#include <future>
#include <optional>
#include <string>
#include <vector>

#include "faults/faults.hpp"
#include "support/redis_quorum.hpp"

namespace holdfast::faults {
namespace {

using test::redis_quorum;
using testing::AllOf;
using testing::HasSubstr;

class redis_quorum_servers : public testing::Test {
 protected:
  static void lock_and_unlock(client& locks) {
    auto held = mutex{locks, "stock", patient()}.acquire();
    EXPECT_EQ(renew(held), renewal::renewed);
    EXPECT_FALSE(held.release());
  }
  static std::string place_of(test::redis_server& server) {
    return "127.0.0.1:" + std::to_string(server.port());
  }
};

TEST_F(redis_quorum_servers, of_a_minority_may_stand_still_or_die) {
  redis_quorum servers;
  client locks{servers.url()};
  lock_and_unlock(locks);
  servers.server(1).stop();
  servers.server(3).kill();
  for (int each = 0; each < 20; ++each) lock_and_unlock(locks);
  client newcomer{servers.url()};
  lock_and_unlock(newcomer);
  servers.server(1).go_on();
  servers.server(3).start();
  auto held = mutex{locks, "stock", patient()}.acquire();
  await([&] { return renew(held) == renewal::renewed && servers.holds_of("stock") == 5; },
        "a server that is back gets no hold");
  EXPECT_FALSE(held.release());
  await([&] { return servers.holds_of("stock") == 0; }, "a server keeps the hold");
}

// A majority is enough for the caller. What the others would keep is in everybody's way for a ttl. After a
// while a client asks each server first whether it may have forgotten locks, so its releases arrive at
// different times.
TEST_F(redis_quorum_servers, keep_nothing_of_clients_that_end) {
  constexpr int clients = 20;
  redis_quorum servers;
  const std::string url = servers.guarded_url("?restart_guard=30s&node_timeout=20s");
  for (std::size_t i = 0; i < servers.size(); ++i) servers.server(i).forget_start();
  const auto name_of = [](int each) { return "job" + std::to_string(each); };
  std::vector<std::future<void>> jobs;
  for (int each = 0; each < clients; ++each) {
    jobs.push_back(std::async(std::launch::async, [&, each] {
      client locks{url, client_options{}.flush_limit(50s)};
      auto held = mutex{locks, name_of(each), patient()}.acquire();
      const auto end = boot_clock::now() + 1300ms;
      await([&] { return boot_clock::now() > end; }, "time stands still");
      EXPECT_FALSE(held.release());
    }));
  }
  for (auto& each : jobs) each.get();
  for (int each = 0; each < clients; ++each) EXPECT_EQ(servers.holds_of(name_of(each)), 0U) << name_of(each);
}

TEST_F(redis_quorum_servers, of_a_majority_that_die_are_named_and_are_used_again) {
  redis_quorum servers{{.servers = 3}};
  client locks{servers.url()};
  lock_and_unlock(locks);
  servers.server(0).kill();
  servers.server(2).kill();
  const auto refused = failure_of([&] { mutex{locks, "stock", hasty()}.lock(); });
  EXPECT_TRUE(refused.code == errc::unavailable || refused.code == errc::unknown_outcome) << refused.text;
  EXPECT_THAT(refused.text, AllOf(HasSubstr(place_of(servers.server(0))),
                                  HasSubstr(place_of(servers.server(2))), HasSubstr("2 of 3 servers")));
  servers.server(0).start();
  lock_and_unlock(locks);
}

/// A lock is held on two of three servers. One of these comes back empty, and so does the third.
class redis_quorum_restarts : public redis_quorum_servers {
 protected:
  void lock_on_two(duration ttl, const std::string& guard) {
    url_ = servers_.guarded_url("?restart_guard=" + guard);
    for (std::size_t i = 0; i < servers_.size(); ++i) servers_.server(i).forget_start();
    servers_.server(2).kill();
    client_.emplace(url_);
    held_ = mutex{*client_, "stock", lock_options{}.ttl(ttl).renewal(false)}.acquire();
  }
  void forget_on_two() {
    servers_.server(1).kill();
    servers_.server(1).start_empty();
    servers_.server(2).start_empty();
  }
  lease next() {
    return mutex{next_client_.emplace(url_), "stock", lock_options{}.ttl(4s).retry(patient().retry())}
        .acquire();
  }

  redis_quorum servers_{{.servers = 3}};
  std::string url_;
  std::optional<client> client_;
  std::optional<client> next_client_;
  lease held_;
};

// Kleppmann's and antirez's case: a server that has forgotten its vote gives it to another client.
TEST_F(redis_quorum_restarts, without_memory_give_no_vote_before_the_guard_is_over) {
  lock_on_two(4s, "4s");
  forget_on_two();
  auto next_one = next();
  EXPECT_FALSE(held_.held()) << "two hold";
  EXPECT_GT(next_one.token(), held_.token());
}

// The control: what the guard is for.
TEST_F(redis_quorum_restarts, without_memory_and_guard_let_two_in) {
  lock_on_two(60s, "0");
  forget_on_two();
  const auto next_one = next();
  EXPECT_TRUE(held_.held());
  EXPECT_TRUE(next_one.held());
}

/// Three servers that have each write on the disk before its reply. Clients read that in their settings.
class redis_quorum_memory : public redis_quorum_servers {
 protected:
  /// As if the servers had been there for long.
  void lock_on_all() {
    for (std::size_t i = 0; i < servers_.size(); ++i) servers_.server(i).forget_start();
    client_.emplace(url_);
    held_ = mutex{*client_, "stock", patient()}.acquire();
    await([&] { return servers_.holds_of("stock") == servers_.size(); }, "a server has no hold");
  }
  void restart_two() {
    for (const std::size_t i : {1, 2}) servers_.server(i).kill();
    for (const std::size_t i : {1, 2}) servers_.server(i).start();
  }
  lock_state state_for_a_newcomer() {
    return newcomer_.emplace(url_).inspect("stock").value_or(lock_state{});
  }

  redis_quorum servers_{{.servers = 3, .append_only = true}};
  std::string url_ = servers_.guarded_url("?restart_guard=60s&node_timeout=20s");
  std::optional<client> client_;
  std::optional<client> newcomer_;
  lease held_;
};

TEST_F(redis_quorum_memory, that_is_on_the_disk_gives_a_vote_at_once_after_a_restart) {
  lock_on_all();
  restart_two();
  const auto state = state_for_a_newcomer();
  EXPECT_EQ(state.pause_reason, "");
  EXPECT_EQ(state.holders.size(), 1U) << "and the hold is remembered";
  mutex another{*newcomer_, "another", patient()};
  EXPECT_TRUE(another.try_lock());
  EXPECT_FALSE((mutex{*newcomer_, "stock", patient()}.try_lock()));
  EXPECT_EQ(renew(held_), renewal::renewed);
  another.unlock();
}

TEST_F(redis_quorum_memory, that_was_not_on_the_disk_when_it_granted_waits_for_the_guard) {
  for (std::size_t i = 0; i < servers_.size(); ++i)
    ASSERT_EQ(servers_.server(i).ask({"CONFIG", "SET", "appendfsync", "everysec"}), "OK");
  lock_on_all();
  restart_two();  // with the settings of its file again
  EXPECT_EQ(servers_.server(1).ask({"CONFIG", "GET", "appendfsync"}), "appendfsync\nalways");
  EXPECT_THAT(state_for_a_newcomer().pause_reason, HasSubstr("may have forgotten"));
  EXPECT_EQ(renew(held_), renewal::renewed);
}

TEST_F(redis_quorum_memory, that_is_lost_all_the_same_waits_for_the_guard) {
  lock_on_all();
  for (const std::size_t i : {1, 2}) servers_.server(i).kill();
  for (const std::size_t i : {1, 2}) servers_.server(i).start_empty();
  EXPECT_THAT(state_for_a_newcomer().pause_reason, HasSubstr("may have forgotten"));
}

}  // namespace
}  // namespace holdfast::faults
