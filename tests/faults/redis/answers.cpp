// SPDX-License-Identifier: Apache-2.0
// Servers that answer, but not with what was asked for: each failure has its code, and a sentence that names
// the store and the cause, and never the password.

#include <sstream>
#include <thread>

#include "faults/faults.hpp"
#include "support/redis_server.hpp"

namespace holdfast::faults {
namespace {

using test::redis_server;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

redis_server::settings with(std::vector<std::string> lines) {
  return {.lines = std::move(lines), .password = "hunter2"};
}

failing lock_in_vain(const std::string& url) {
  return known_failure_of([&] {
    client locks{url, client_options{}.locks(hasty())};
    mutex{locks, "stock"}.lock();
  });
}

void expect_refusal(const redis_server& server, const std::string& url, errc code, const std::string& cause) {
  const auto refused = lock_in_vain(url);
  EXPECT_EQ(refused.code, code) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr(cause));
  EXPECT_THAT(refused.text, HasSubstr("127.0.0.1:" + std::to_string(server.port())));
  EXPECT_THAT(refused.text, Not(HasSubstr("hunter2")));
}

void expect_service(const redis_server& server) {
  client locks{server.url()};
  EXPECT_TRUE(mutex(locks, "stock").acquire().held());
}

TEST(redis_answers, readonly_of_a_replica) {
  redis_server primary;
  redis_server replica{with({"masterauth none"})};
  replica.replicate(primary);
  expect_refusal(replica, replica.url(), errc::unavailable, "the server is a replica");
  client locks{replica.url(), client_options{}.locks(hasty())};
  EXPECT_EQ(failure_of([&] { (void)locks.inspect("stock"); }).code, errc::unavailable)
      << "what it has may be old";
  replica.ask({"REPLICAOF", "NO", "ONE"});
  expect_service(replica);
}

// A node listens at a second port as well, 10000 higher, which may be taken, or be none.
std::unique_ptr<redis_server> start_node() {
  for (int attempt = 0;; ++attempt) {
    try {
      return std::make_unique<redis_server>(with({"cluster-enabled yes"}));
    } catch (const std::runtime_error&) {
      if (attempt == 20) throw;
    }
  }
}

TEST(redis_answers, cluster_mode_is_refused_at_once) {
  const auto node = start_node();
  const auto refused = failure_of([&] {
    client locks{node->url()};
    mutex{locks, "stock", endless()}.lock();
  });
  EXPECT_EQ(refused.code, errc::foreign_store) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("a node of a cluster"));
  EXPECT_THAT(refused.text, HasSubstr("redis+cluster://")) << "what to do";
}

TEST(redis_answers, loading_is_waited_for_by_those_who_have_the_patience) {
  redis_server server{with({"key-load-delay 3000", "loading-process-events-interval-bytes 1024"})};
  server.ask({"DEBUG", "POPULATE", "5000", "key", "100"});
  server.ask({"SAVE"});
  server.kill();
  server.start_loading();
  expect_refusal(server, server.url(), errc::unavailable, "LOADING");
  EXPECT_EQ(server.ask({"CONFIG", "SET", "key-load-delay", "0"}), "OK");
  expect_service(server);
}

TEST(redis_answers, noperm_of_a_user_without_scripts_or_without_keys) {
  redis_server server{with({})};
  const auto place = "@127.0.0.1:" + std::to_string(server.port());
  for (const std::string rights : {"~* &* +@all -@scripting", "~other:* &* +@all"}) {
    server.ask({"DEL", "holdfast:stock"});
    std::vector<std::string> arguments{"ACL", "SETUSER", "clerk", "reset", "on", ">hunter2"};
    std::istringstream each{rights};
    for (std::string rule; each >> rule;) arguments.push_back(rule);
    ASSERT_EQ(server.ask(arguments), "OK");
    const auto refused = failure_of([&] {
      client locks{"redis://clerk:hunter2" + place};
      mutex{locks, "stock", endless()}.lock();
    });
    EXPECT_EQ(refused.code, errc::permission_denied) << refused.text;
    EXPECT_THAT(refused.text, Not(HasSubstr("hunter2")));
  }
}

// The script has queued the claim when the server refuses the next command.
TEST(redis_answers, noperm_within_a_script_leaves_no_claim_behind) {
  redis_server server{with({})};
  server.ask({"ACL", "SETUSER", "clerk", "on", ">hunter2", "~*", "&*", "+@all", "-pexpire"});
  client locks{server.url()};
  auto held = mutex{locks, "stock"}.acquire();
  const auto refused = failure_of([&] {
    client others{"redis://clerk:hunter2@127.0.0.1:" + std::to_string(server.port()) + "?failover_guard=0"};
    mutex{others, "stock", patient().ttl(1h)}.lock();
  });
  EXPECT_EQ(refused.code, errc::unknown_outcome) << refused.text;
  EXPECT_THAT(refused.text, AllOf(HasSubstr("a right that a script needs"), Not(HasSubstr("hunter2"))));
  await([&] { return locks.inspect("stock").value_or(lock_state{}).waiters.empty(); }, "the claim stays");
  EXPECT_FALSE(held.release());
  EXPECT_TRUE(mutex(locks, "stock").try_lock()) << "it was granted to nobody";
}

TEST(redis_answers, oom_of_a_full_server) {
  redis_server server{with({"maxmemory-policy noeviction"})};
  ASSERT_EQ(server.ask({"CONFIG", "SET", "maxmemory", "1"}), "OK");
  expect_refusal(server, server.url(), errc::exhausted, "OOM");
  ASSERT_EQ(server.ask({"CONFIG", "SET", "maxmemory", "0"}), "OK");
  expect_service(server);
}

TEST(redis_answers, oom_keeps_nobody_from_giving_back) {
  redis_server server{with({"maxmemory-policy noeviction"})};
  client locks{server.url()};
  auto held = mutex{locks, "stock"}.acquire();
  ASSERT_EQ(server.ask({"CONFIG", "SET", "maxmemory", "1"}), "OK");
  EXPECT_EQ(held.renew(), renewal::renewed);
  EXPECT_FALSE(held.release());
  EXPECT_EQ(server.ask({"EXISTS", "holdfast:stock"}), "0");
}

// It stays in the queue, or comes again, for as long as the server has no memory for it.
TEST(redis_answers, oom_ends_no_standby) {
  redis_server server{with({"maxmemory-policy noeviction"})};
  client locks{server.url()};
  client others{server.url()};
  auto held = election{locks, "boss"}.campaign("first");
  auto waiting = std::async(std::launch::async, [&] {
    const auto options = lock_options{}.ttl(1s).retry(retry_policy{}.limit(50ms));
    return election{others, "boss", options}.campaign("second");
  });
  await([&] { return locks.inspect("boss")->waiters.size() == 1; }, "it does not stand by");
  const auto refusals = [&] {
    std::istringstream lines{server.ask({"INFO", "stats"})};
    const std::string key = "total_error_replies:";
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with(key)) return std::stoi(line.substr(key.size()));
    return 0;
  };
  const int before = refusals();
  ASSERT_EQ(server.ask({"CONFIG", "SET", "maxmemory", "1"}), "OK");
  await([&] { return refusals() >= before + 5; }, "it is not refused");
  EXPECT_EQ(waiting.wait_for(0s), std::future_status::timeout);
  ASSERT_EQ(server.ask({"CONFIG", "SET", "maxmemory", "0"}), "OK");
  EXPECT_FALSE(held.resign());
  EXPECT_TRUE(waiting.get().held());
}

TEST(redis_answers, busy_with_somebody_elses_script) {
  redis_server server{with({"lua-time-limit 10"})};
  const auto other = server.console();
  other->tell({"EVAL", "while true do end", "0"});
  await([&] { return server.ask({"PING"}).starts_with("-BUSY"); }, "it is not busy");
  expect_refusal(server, server.url(), errc::unavailable, "BUSY");
  ASSERT_EQ(server.ask({"SCRIPT", "KILL"}), "OK");
  expect_service(server);
}

TEST(redis_answers, misconf_of_a_server_that_cannot_save) {
  redis_server server{with({"save 3600 1000000"})};
  std::filesystem::create_directories(server.file("dump.rdb") + "/in the way");
  server.ask({"BGSAVE"});
  const auto has_failed = [&] {
    return server.ask({"INFO", "persistence"}).find("rdb_last_bgsave_status:err") != std::string::npos;
  };
  await(has_failed, "it can be saved");
  expect_refusal(server, server.url(), errc::unavailable, "MISCONF");
  ASSERT_EQ(server.ask({"CONFIG", "SET", "stop-writes-on-bgsave-error", "no"}), "OK");
  expect_service(server);
}

}  // namespace
}  // namespace holdfast::faults
