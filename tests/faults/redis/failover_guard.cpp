// SPDX-License-Identifier: Apache-2.0
// The failover guard on real servers: one that may have forgotten grants makes no new ones until they are
// over.

#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <sstream>
#include <thread>

#include "faults/faults.hpp"
#include "support/fault_proxy.hpp"
#include "support/redis_server.hpp"

namespace holdfast::faults {
namespace {

using test::direction;
using test::fault_proxy;
using test::redis_server;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr auto guard = 6s;
lock_options brief() { return lock_options{}.ttl(guard); }
const std::string with_guard = "?failover_guard=6s";

/// What a try meets while nothing is granted.
void expect_pause(client& locks, const std::string& cause, const std::string& name = "other") {
  const auto paused = failure_of([&] { static_cast<void>(mutex{locks, name, brief()}.try_lock()); });
  EXPECT_EQ(paused.code, errc::unavailable) << paused.text;
  EXPECT_THAT(paused.text,
              AllOf(HasSubstr(cause), HasSubstr("grants nothing new for"), HasSubstr("failover_guard")));
}

/// A primary, and a replica that can be cut off from it.
class redis_guard : public testing::Test {
 protected:
  redis_guard() {
    primary_.forget_start();
    replica_.replicate(line_.port());
    catch_up();
  }
  void catch_up() { primary_.await_replicas(1); }
  void cut_replica_off() { line_.interfere(direction::to_client, {.swallow = true}); }
  /// The primary dies, and the replica takes its place, with what it has received.
  void fail_over() {
    primary_.kill();
    ASSERT_EQ(replica_.ask({"REPLICAOF", "NO", "ONE"}), "OK");
  }

  redis_server primary_{{.lines = {"repl-diskless-sync-delay 0", "repl-backlog-ttl 1"}}};
  fault_proxy line_{primary_.port()};
  redis_server replica_;
};

TEST_F(redis_guard, lets_nobody_in_beside_a_holder_that_the_replica_does_not_know) {
  client locks{primary_.guarded_url(with_guard)};
  cut_replica_off();
  auto held = mutex{locks, "stock", brief()}.acquire();
  fail_over();
  client others{replica_.guarded_url(with_guard)};  // was not there before
  expect_pause(others, "became the primary");
  const auto next = mutex{others, "stock", brief()}.acquire();
  EXPECT_FALSE(held.held()) << "two hold";
  EXPECT_GT(next.token(), held.token());
}

TEST_F(redis_guard, begins_when_no_former_primary_takes_writes_any_more) {
  fail_over();
  client others{replica_.guarded_url(with_guard + "&former_primary=2s")};
  const auto before = boot_clock::now();
  const auto refusal = [&] {
    return failure_of([&] { static_cast<void>(mutex{others, "stock", brief()}.try_lock()); });
  };
  auto last = refusal();
  EXPECT_THAT(last.text, AllOf(HasSubstr("became the primary"), HasSubstr("former_primary"))) << "it is used";
  while (last.text.find("not used") != std::string::npos && boot_clock::now() < before + 60s)
    last = refusal();
  EXPECT_GE(boot_clock::now() - before, 2s);
  expect_pause(others, "became the primary", "stock");
}

TEST_F(redis_guard, lets_two_in_where_it_is_off) {
  client locks{primary_.url()};
  cut_replica_off();
  auto held = mutex{locks, "stock"}.acquire();
  fail_over();
  client others{replica_.url()};
  const auto next = mutex{others, "stock"}.acquire();
  EXPECT_TRUE(held.held()) << "the test above shows nothing";
}

TEST_F(redis_guard, goes_for_whoever_comes_while_it_lasts_and_for_nobody_afterwards) {
  {
    client first{primary_.guarded_url(with_guard)};
    EXPECT_TRUE(mutex(first, "stock", brief()).try_lock());
  }
  catch_up();
  fail_over();
  client second{replica_.guarded_url(with_guard)};
  expect_pause(second, "became the primary");
  client third{replica_.guarded_url(with_guard)};
  expect_pause(third, "became the primary");
  static_cast<void>(mutex{third, "stock", brief()}.acquire());
  client fourth{replica_.guarded_url(with_guard)};
  EXPECT_TRUE(mutex(fourth, "stock", brief()).try_lock()) << "the guard begins anew";
}

TEST_F(redis_guard, costs_no_holder_that_the_replica_knows_anything) {
  const auto folder = test::scratch_folder{};
  const auto name = folder.file("name");
  std::filesystem::create_symlink(primary_.socket(), name);
  client locks{"unix:" + name + with_guard};
  auto held = mutex{locks, "stock", brief()}.acquire();
  catch_up();
  std::filesystem::create_symlink(replica_.socket(), folder.file("next"));
  std::filesystem::rename(folder.file("next"), name);
  fail_over();
  EXPECT_EQ(renew(held), renewal::renewed);
  expect_pause(locks, "became the primary");
  EXPECT_FALSE(held.release());
}

TEST_F(redis_guard, hands_nothing_over_and_says_why_to_who_waits) {
  client locks{primary_.guarded_url(with_guard)};
  auto held = mutex{locks, "stock", brief()}.acquire();
  catch_up();
  fail_over();
  client others{replica_.guarded_url(with_guard)};
  auto waiting = std::async(std::launch::async, [&] { return mutex{others, "stock", brief()}.acquire(); });
  expect_waiter(others);
  const auto state = others.inspect("stock").value_or(lock_state{});
  EXPECT_GT(state.paused_for, duration::zero());
  EXPECT_THAT(state.pause_reason, HasSubstr("became the primary"));
  // Somebody who may ends the hold: the waiter would have it now.
  EXPECT_EQ(others.force_release("stock"), 1U);
  EXPECT_EQ(others.inspect("stock").value_or(lock_state{}).waiters.size(), 1U);
  const auto limited =
      failure_of([&] { static_cast<void>(mutex{others, "stock", brief()}.try_lock_for(500ms)); });
  EXPECT_THAT(limited.text, HasSubstr("became the primary"));
  EXPECT_GT(waiting.get().token(), held.token());
}

/// A connection that stays while its server is demoted and promoted again.
class redis_guard_of_a_lasting_connection : public redis_guard {
 protected:
  /// The client that has the connection is paused in the end, whatever somebody does meanwhile again and
  /// again.
  void expect_found(client& locks, const std::function<void()>& meanwhile) {
    std::jthread other{[&](const std::stop_token& end) {
      while (meanwhile && !end.stop_requested()) meanwhile();
    }};
    replica_.ask({"REPLICAOF", "NO", "ONE"});
    primary_.replicate(replica_.port());
    await([&] { return primary_.info_text("master_link_status") == "up"; }, "it does not follow");
    primary_.ask({"REPLICAOF", "NO", "ONE"});
    const auto promoted_at = boot_clock::now();
    await([&] { return boot_clock::now() > promoted_at + 1100ms; }, "");  // every connection is asked again
    expect_pause(locks, "became the primary");
  }
};

TEST_F(redis_guard_of_a_lasting_connection, is_found_where_it_was_idle) {
  client locks{primary_.guarded_url(with_guard)};
  ASSERT_TRUE(mutex(locks, "stock", brief()).try_lock());
  expect_found(locks, {});
}

// What only reads, a replica answers as well.
TEST_F(redis_guard_of_a_lasting_connection, is_found_where_it_was_never_silent) {
  client locks{primary_.guarded_url(with_guard)};
  ASSERT_TRUE(mutex(locks, "stock", brief()).try_lock());
  expect_found(locks, [&] { failure_of([&] { static_cast<void>(locks.inspect("stock")); }); });
}

// Anybody may send notifications.
TEST_F(redis_guard_of_a_lasting_connection, is_found_where_others_send_it_notifications) {
  client locks{primary_.guarded_url(with_guard)};
  ASSERT_TRUE(mutex(locks, "stock", brief()).try_lock());
  const std::string channel = primary_.ask({"PUBSUB", "CHANNELS", "holdfast:client:*"});
  ASSERT_TRUE(channel.starts_with("holdfast:client:")) << channel;
  const auto console = primary_.console();
  expect_found(locks, [&] { console->ask({"PUBLISH", channel, "noise"}); });
}

TEST_F(redis_guard, is_no_matter_of_a_primary_that_has_lost_its_last_replica) {
  const auto id = [this] {
    const auto all = primary_.ask({"INFO", "replication"});
    return all.substr(all.find("master_replid:"), 54);
  };
  client locks{primary_.guarded_url(with_guard)};
  ASSERT_TRUE(mutex(locks, "stock", brief()).try_lock());
  const auto before = id();
  replica_.kill();
  await([&] { return id() != before; }, "it keeps its id");
  client others{primary_.guarded_url(with_guard)};
  EXPECT_TRUE(mutex(others, "other", brief()).try_lock());
}

TEST(redis_guard_of_starts, lets_nobody_in_after_one_without_memory) {
  redis_server server;
  client locks{server.guarded_url(with_guard)};
  expect_pause(locks, "the server was started");
  auto held = mutex{locks, "stock", brief()}.acquire();
  server.kill();
  server.start();
  client others{server.guarded_url(with_guard)};
  const auto next = mutex{others, "stock", brief()}.acquire();
  EXPECT_FALSE(held.held()) << "two hold";
  EXPECT_GT(next.token(), held.token());
}

// What a server keeps on its disk says nothing of what another one has granted: it may have been its replica.
TEST(redis_guard_of_starts, lets_nobody_in_after_one_with_all_that_it_knew) {
  redis_server server{{.append_only = true}};
  client locks{server.guarded_url(with_guard)};
  auto held = mutex{locks, "stock", brief()}.acquire();
  server.kill();
  server.start();
  EXPECT_EQ(renew(held), renewal::renewed);
  expect_pause(locks, "or was restarted");
  EXPECT_FALSE(held.release());
  server.kill();
  server.start_empty();
  client others{server.guarded_url(with_guard)};
  expect_pause(others, "the server was started");
}

// The new primary's clock is behind, by less than the guard.
TEST(redis_guard_of_clocks, has_tokens_rise_over_a_failover) {
  redis_server primary{{.own_clock = true}};
  redis_server replica;
  primary.set_clock(4s);
  replica.replicate(primary);
  primary.forget_start();
  primary.await_replicas(1);
  client locks{primary.guarded_url(with_guard)};
  replica.stop();
  primary.ask({"CLIENT", "KILL", "TYPE", "replica"});
  const auto forgotten = mutex{locks, "stock", brief()}.acquire().token();
  primary.kill();
  replica.go_on();
  ASSERT_EQ(replica.ask({"REPLICAOF", "NO", "ONE"}), "OK");
  client others{replica.guarded_url(with_guard)};
  EXPECT_GT((mutex{others, "stock", brief()}.acquire().token()), forgotten);
}

std::int64_t micros_of(redis_server& server) {
  std::istringstream time{server.ask({"TIME"})};
  std::int64_t seconds = 0;
  std::int64_t micros = 0;
  time >> seconds >> micros;
  return seconds * 1'000'000 + micros;
}

// Else a server that forgets its last token, after FLUSHALL say, would draw a lower one.
TEST(redis_guard_of_starts, draws_no_token_that_is_ahead_of_the_clock_when_it_is_granted) {
  redis_server server;
  await([&] { return server.info("uptime_in_seconds") >= 4; }, "it does not count");
  client locks{server.guarded_url(with_guard)};
  auto first = mutex{locks, "stock", brief()}.acquire();
  EXPECT_LE(first.token().value(), micros_of(server));
  server.ask({"FLUSHALL"});
  client others{server.url()};
  EXPECT_GT((mutex{others, "stock", brief()}.acquire().token()), first.token());
}

TEST(redis_guard_of_starts, of_another_client_counts_until_it_is_forgotten_by_hand) {
  redis_server server;
  client locks{server.guarded_url("?failover_guard=25h")};
  const auto paused = failure_of([&] { static_cast<void>(mutex{locks, "stock", brief()}.try_lock()); });
  EXPECT_THAT(paused.text, Not(HasSubstr("another client")));
  client others{server.guarded_url(with_guard)};
  expect_pause(others, "failover_guard of 90000 s, which another client has asked for");
  auto waiting = std::async(std::launch::async, [&] { return mutex{others, "stock", brief()}.acquire(); });
  expect_waiter(others);
  // As the message says.
  const auto key = std::string{"{holdfast:}\x1f"} + "guard";
  EXPECT_EQ(server.ask({"DEL", key}), "1");
  const auto held = waiting.get();
  const auto ahead = static_cast<std::int64_t>(held.token().value()) - micros_of(server);
  const auto left = std::stoll(server.ask({"PTTL", std::string{"{holdfast:stock}\x1f"} + "fence"}));
  EXPECT_GT(left, ahead / 1000) << "the server draws a lower token after it";
}

TEST(redis_guard_of_starts, begins_with_an_older_copy) {
  redis_server server{{.lines = {"dbfilename dump.rdb"}}};
  client locks{server.guarded_url("?failover_guard=1s")};
  static_cast<void>(mutex{locks, "stock", lock_options{}.ttl(1s)}.acquire());
  server.ask({"SAVE"});
  server.kill();
  server.start();
  client others{server.guarded_url(with_guard)};
  expect_pause(others, "or was restarted");
}

TEST(redis_guard_options, refuse_a_ttl_that_is_longer) {
  redis_server server;
  client locks{server.guarded_url(with_guard)};
  const auto refused = failure_of([&] { mutex{locks, "stock", lock_options{}.ttl(7s)}.lock(); });
  EXPECT_EQ(refused.code, errc::invalid_argument);
  EXPECT_THAT(refused.text, AllOf(HasSubstr("7s"), HasSubstr("failover_guard=7s")));
}

TEST(redis_guard_options, about_a_former_primary_need_the_guard) {
  const auto refused =
      failure_of([] { client locks{"redis://localhost?failover_guard=0&former_primary=2s"}; });
  EXPECT_EQ(refused.code, errc::invalid_url) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("needs a 'failover_guard'"));
}

TEST(redis_guard_options, need_the_right_to_ask) {
  redis_server server;
  server.ask({"ACL", "SETUSER", "locks", "on", ">secret", "~*", "&*", "+@all", "-info"});
  const auto place = "redis://locks:secret@127.0.0.1:" + std::to_string(server.port());
  const auto refused = failure_of([&] { mutex{*std::make_unique<client>(place), "stock", hasty()}.lock(); });
  EXPECT_EQ(refused.code, errc::permission_denied);
  EXPECT_THAT(refused.text, AllOf(HasSubstr("+info"), HasSubstr("failover_guard=0")));
  client locks{place + "?failover_guard=0"};
  EXPECT_TRUE(mutex(locks, "stock").try_lock());
}

}  // namespace
}  // namespace holdfast::faults
