// SPDX-License-Identifier: Apache-2.0
// `run --also`: a lock of another store, too.

#include <chrono>
#include <csignal>
#include <filesystem>
#include <gmock/gmock.h>
#include <memory>
#include <string>

#include "failure.hpp"
#include "fixture.hpp"
#include "run/also.hpp"
#include <holdfast/boot_clock.hpp>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// The lock `job` of the store of the other tests, and `nightly` of an old one.
class run_also : public command_test {
 protected:
  [[nodiscard]] std::string old() const { return "sqlite:" + file("old.db"); }
  [[nodiscard]] strings both() const { return {"--also", old() + ":nightly"}; }
  result run_both(const strings& options, const strings& command = {"true"}) {
    strings line{"run", "job"};
    for (const auto& part : {both(), options, strings{"--"}, command})
      line.insert(line.end(), part.begin(), part.end());
    return holdfast(line);
  }
  std::unique_ptr<process> start_both(const strings& options, const std::string& script) {
    strings all = both();
    all.insert(all.end(), options.begin(), options.end());
    return start_holder("job", all, script);
  }
  int try_old(const strings& options = {}) {
    strings line{"run", "nightly", "--wait", "0", "--store", old(), "-q"};
    line.insert(line.end(), options.begin(), options.end());
    line.insert(line.end(), {"--", "true"});
    return holdfast(line).status;
  }
  int try_new(const strings& options = {}) {
    strings line{"run", "job", "--wait", "0", "-q"};
    line.insert(line.end(), options.begin(), options.end());
    line.insert(line.end(), {"--", "true"});
    return holdfast(line).status;
  }
  json show_old() {
    return json::parse(holdfast({"show", "nightly", "--json", "--store", old()}).out, nullptr, false);
  }
  std::unique_ptr<process> start_old() { return start_holder("nightly", {"--store", old()}); }
};

TEST_F(run_also, excludes_the_jobs_of_both_stores) {
  const auto holder = start_both({}, "exec sleep 1000");
  EXPECT_EQ(try_old(), 75);
  EXPECT_EQ(try_new(), 75);
  EXPECT_EQ(run_both({"--wait", "0", "-q"}).status, 75);
  holder->signal(SIGTERM);
  EXPECT_EQ(holder->wait().status, 128 + SIGTERM);
  EXPECT_EQ(try_old(), 0);
  EXPECT_EQ(try_new(), 0);
}

TEST_F(run_also, is_excluded_by_a_job_of_the_old_store_and_claims_nothing_else) {
  const auto other = start_old();
  const auto said = run_both({"--wait", "0"});
  EXPECT_EQ(said.status, 75);
  EXPECT_THAT(said.err, HasSubstr("the lock 'nightly' of " + old() + " was not free: it is held by"));
  EXPECT_THAT(run_both({"--wait", "100ms"}).err, HasSubstr("of " + old() + " was not free within 100ms: "));
  EXPECT_EQ(holdfast({"ls", "--all"}).out, "") << "it has not come to the new store";
}

TEST_F(run_also, is_excluded_by_a_job_of_the_new_store_and_lets_go_of_the_old) {
  const auto other = start_holder("job");
  const auto said = run_both({"--wait", "0"});
  EXPECT_EQ(said.status, 75);
  EXPECT_THAT(said.err, HasSubstr("the lock 'job' of " + store() + " was not free: it is held by"));
  EXPECT_EQ(try_old(), 0);
}

TEST_F(run_also, has_the_token_of_the_new_store) {
  const auto said =
      run_both({}, {"sh", "-c", "env | grep ^HOLDFAST_ | sort; " HOLDFAST_COMMAND " show job --json"});
  EXPECT_EQ(said.status, 0) << said.err;
  const auto at = said.out.find('{');
  const auto token = json::parse(said.out.substr(at))["holders"][0]["token"].get<std::uint64_t>();
  EXPECT_THAT(said.out, AllOf(HasSubstr("HOLDFAST_NAME=job\n"),
                              HasSubstr("HOLDFAST_TOKEN=" + std::to_string(token) + '\n'),
                              Not(HasSubstr("HOLDFAST_TOKEN_2"))));
}

/// A job with `other` of the old store would run beside it.
TEST_F(run_also, refuses_further_names) {
  for (const auto* option : {"--and", "--and-shared"}) {
    const auto said = run_both({option, "other"}, {"touch", file("harm")});
    EXPECT_EQ(said.status, 64);
    EXPECT_THAT(said.err, HasSubstr("holdfast run a --and b --store OLD -- holdfast run a --and b "
                                    "--store NEW -- ./job"));
    EXPECT_FALSE(std::filesystem::exists(file("harm")));
  }
}

/// As the refusal advises.
TEST_F(run_also, of_several_names_is_a_command_in_another) {
  const auto holder = start_holder("job", {"--and", "other", "--store", old()},
                                   HOLDFAST_COMMAND " run job --and other --store " + store() +
                                       " -- sh -c 'echo $HOLDFAST_TOKEN_2 >$D/tokens; exec sleep 1000'");
  const auto show_other = [this] {
    return json::parse(holdfast({"show", "other", "--json"}).out, nullptr, false);
  };
  ASSERT_TRUE(eventually([&] { return contents(file("tokens")).ends_with('\n'); }));
  EXPECT_EQ(contents(file("tokens")), to_string(show_other()["holders"][0]["token"]) + '\n');
  for (const auto& where : {old(), store()}) {
    for (const auto* name : {"job", "other"})
      EXPECT_EQ(holdfast({"run", name, "--wait", "0", "-q", "--store", where, "--", "true"}).status, 75);
  }
  EXPECT_EQ(holdfast({"release", "--force", "other", "--store", old()}).status, 0);
  EXPECT_EQ(holder->wait().status, 76);
  EXPECT_FALSE(held("job"));
}

TEST_F(run_also, ends_the_command_when_the_old_lock_is_lost) {
  auto holder = start_both({}, "exec sleep 1000");
  EXPECT_EQ(holdfast({"release", "--force", "nightly", "--store", old()}).status, 0);
  const auto ended = holder->wait();
  EXPECT_EQ(ended.status, 76);
  EXPECT_THAT(ended.err,
              AllOf(HasSubstr("the lock 'nightly' of " + old() + " (token "),
                    HasSubstr(") was lost while 'sh' ran; 'sh' was ended."), HasSubstr("released by force")));
  EXPECT_EQ(try_new(), 0);
}

TEST_F(run_also, ends_the_command_when_the_new_lock_is_lost) {
  auto holder = start_both({"--lost-exit-code", "3"}, "exec sleep 1000");
  EXPECT_EQ(holdfast({"release", "--force", "job"}).status, 0);
  const auto ended = holder->wait();
  EXPECT_EQ(ended.status, 3);
  EXPECT_THAT(ended.err, HasSubstr("the lock 'job' of " + store() + " (token "));
  EXPECT_EQ(try_old(), 0);
}

TEST_F(run_also, tells_of_both_in_json) {
  auto holder = start_both({"--json"}, "exec sleep 1000");
  const auto token = show_old()["holders"][0]["token"];
  EXPECT_EQ(holdfast({"release", "--force", "nightly", "--store", old()}).status, 0);
  const auto lines = parse_lines(holder->wait().err);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0]["name"], "job");
  EXPECT_EQ(lines[0]["lost_name"], "nightly");
  EXPECT_EQ(lines[0]["lost_store"], old());
  EXPECT_EQ(lines[0]["also"], (json{{"name", "nightly"}, {"store", old()}, {"token", token}}));
  EXPECT_EQ(lines[0]["status"], 76);
  const auto alone = parse_lines(holdfast({"run", "job", "--json", "--", "true"}).err).at(0);
  EXPECT_FALSE(alone.contains("also") || alone.contains("lost_store"));
}

TEST_F(run_also, lets_go_of_the_first_when_a_signal_ends_the_wait_for_the_second) {
  const auto other = start_holder("job");
  const auto waiter = start({"run", "job", "--also", old() + ":nightly", "--", "true"});
  ASSERT_TRUE(waiters("job", 1));
  EXPECT_EQ(try_old(), 75) << "it holds the first meanwhile";
  waiter->signal(SIGTERM);
  EXPECT_EQ(waiter->wait().status, 128 + SIGTERM);
  EXPECT_EQ(try_old(), 0);
  EXPECT_TRUE(waiters("job", 0));
}

TEST_F(run_also, takes_both_anew_if_the_first_is_lost_during_the_wait) {
  for (const bool is_quiet : {false, true}) {
    const auto other = start_holder("job");
    strings line{"run", "job", "--also", old() + ":nightly"};
    if (is_quiet) line.emplace_back("-q");
    line.insert(line.end(), {"--", "sh", "-c", HOLDFAST_COMMAND " show -q nightly --store " + old()});
    const auto waiter = start(line);
    ASSERT_TRUE(waiters("job", 1));
    EXPECT_EQ(holdfast({"release", "--force", "nightly", "--store", old()}).status, 0);
    // Whoever has it now is waited for.
    const auto next = start({"run", "nightly", "--store", old(), "--", "true"});
    EXPECT_EQ(next->wait().status, 0);
    other->signal(SIGTERM);
    const auto ended = waiter->wait();
    EXPECT_EQ(ended.status, 0) << "it ran without the first";
    EXPECT_EQ(ended.err, is_quiet ? ""
                                  : "holdfast: the lock 'nightly' of " + old() +
                                        " was lost during the wait for the lock 'job' of " + store() +
                                        "; both are taken anew\n");
  }
}

/// One limit, and not one for each. Where the machine stands still, a longer one decides.
TEST_F(run_also, has_one_limit_for_both) {
  const auto is_one = [&](duration limit) {
    const auto other = start_holder("job");
    const auto first = start({"run", "nightly", "--store", old(), "--", "sleep", "1000"});
    EXPECT_TRUE(eventually([&] { return try_old() == 75; }));
    const auto began = boot_clock::now();
    const auto waiter =
        start({"run", "job", "--also", old() + ":nightly", "--wait",
               std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(limit).count()) + "ms",
               "-q", "--", "true"});
    const auto first_wait = limit / 2;
    const bool waits = eventually([&] { return boot_clock::now() - began >= first_wait; });
    first->signal(SIGTERM);
    EXPECT_EQ(waiter->wait().status, 75);
    return waits && boot_clock::now() - began < first_wait + limit;
  };
  EXPECT_TRUE(is_one(2s) || is_one(8s) || is_one(32s));
}

TEST_F(run_also, holds_both_in_the_same_way) {
  const auto reader = start_both({"--shared"}, "exec sleep 1000");
  EXPECT_EQ(run_both({"--shared", "--wait", "0"}).status, 0);
  EXPECT_EQ(try_old({"--shared"}), 0);
  EXPECT_EQ(try_old(), 75);
  EXPECT_EQ(try_new(), 75);
}

/// The stores do not keep them: one would rest although the other was not granted.
TEST_F(run_also, stays_for_at_least_and_keeps_none_that_has_not_run) {
  const auto other = start_holder("job");
  EXPECT_EQ(run_both({"--at-least", "1h", "--wait", "0", "-q"}).status, 75);
  EXPECT_EQ(try_old(), 0);
  other->signal(SIGTERM);
  other->wait();
  const auto holder = start_both({"--at-least", "1h"}, "exit 7");
  ASSERT_TRUE(eventually([&] { return is_dead(holder_pid()); }));
  EXPECT_EQ(try_old(), 75);
  EXPECT_EQ(try_new(), 75);
  holder->signal(SIGTERM);
  EXPECT_EQ(holder->wait().status, 7);
  EXPECT_EQ(try_old(), 0);
}

TEST_F(run_also, refuses_the_lock_that_it_takes_anyway) {
  const auto said = holdfast({"run", "job", "--also", store() + ":job", "--", "true"},
                             {.environment = {"HOLDFAST_STORE=" + store()}});
  EXPECT_EQ(said.status, 64);
  EXPECT_THAT(said.err, HasSubstr("--also: 'job' of " + store() + " is taken anyway"));
}

/// It would wait for itself, without a limit for ever.
TEST_F(run_also, refuses_the_lock_that_it_takes_anyway_by_another_url) {
  for (const auto& also :
       {"sqlite:" + scratch_.path().string() + "/./locks.db", store() + "?token_base=1000"}) {
    for (const strings& options : {strings{}, strings{"--wait", "0", "-q"}}) {
      strings line{"run", "job", "--also", also + ":job"};
      line.insert(line.end(), options.begin(), options.end());
      line.insert(line.end(), {"--", "true"});
      const auto said = holdfast(line);
      EXPECT_EQ(said.status, 64) << also;
      EXPECT_THAT(said.err, HasSubstr("--also: 'job' of " + also + " is taken anyway"));
    }
  }
  EXPECT_FALSE(held("job"));
}

TEST_F(run_also, takes_the_same_name_of_two_stores) {
  EXPECT_EQ(holdfast({"run", "job", "--also", old() + ":job", "--wait", "0", "--", "true"}).status, 0);
}

TEST_F(run_also, refuses_a_password_that_is_a_mask) {
  const auto said = holdfast({"run", "job", "--also", "redis://app:***@127.0.0.1:1:job", "--", "true"});
  EXPECT_EQ(said.status, 64);
  EXPECT_THAT(said.err, HasSubstr("the password of redis://app:***@127.0.0.1:1 is masked; give it with "
                                  "--also-password-file"));
}

TEST_F(run_also, shows_no_password_of_a_url_that_it_refuses) {
  for (const auto* text : {"redis://app:secret@127.0.0.1", "redis://app:secret@127.0.0.1:6379",
                           "postgresql://127.0.0.1/x?password=a:secret"}) {
    const auto said = holdfast({"run", "job", "--also", text, "--", "true"});
    EXPECT_EQ(said.status, 64) << text;
    EXPECT_THAT(said.err, AllOf(HasSubstr("--also: "), HasSubstr("NAME"), Not(HasSubstr("secret"))));
  }
}

TEST(also_choices, are_split_at_the_last_colon) {
  const auto expect = [](const char* text, const char* url, const char* name) {
    const auto split = cli::also_of(text);
    EXPECT_EQ(split.url, url) << text;
    EXPECT_EQ(split.name, name) << text;
  };
  expect("redis://old:nightly", "redis://old", "nightly");
  expect("redis://old:6379:nightly", "redis://old:6379", "nightly");
  expect("redis://old:6379/2:stock/sku-42", "redis://old:6379/2", "stock/sku-42");
  expect("redis://old:stock/sku-42", "redis://old", "stock/sku-42");
  expect("redis://app:pw@old:job", "redis://app:pw@old", "job");
  expect("redis://app:p%3Aw@old:6379:42", "redis://app:p%3Aw@old:6379", "42");
  expect("redis://old?failover_guard=30s:job", "redis://old?failover_guard=30s", "job");
  expect("redis://old?token_base=5:job", "redis://old?token_base=5", "job");
  expect("redis://old:a%3Ab%25", "redis://old", "a:b%");
  expect("redis://[::1]:job", "redis://[::1]", "job");
  expect("redis://[::1]:6379:job", "redis://[::1]:6379", "job");
  expect("zk://a:2181,b:2181:job", "zk://a:2181,b:2181", "job");
  expect("zk://a,b/locks:7", "zk://a,b/locks", "7");
  expect("redis+unix:///run/redis.sock:7", "redis+unix:///run/redis.sock", "7");
  expect("redis://old:4x", "redis://old", "4x");
  expect("sqlite:/srv/locks.db:job", "sqlite:/srv/locks.db", "job");
  expect("sqlite::job", "sqlite:", "job");
  expect("sqlite:x.db:6379", "sqlite:x.db", "6379");
}

TEST(also_choices, need_a_name_that_is_no_port) {
  const auto refusal = [](const std::string& text) -> std::string {
    try {
      static_cast<void>(cli::also_of(text));
    } catch (const cli::failure& refused) {
      EXPECT_EQ(refused.status(), cli::bad_usage);
      return refused.what();
    }
    return "";
  };
  for (const auto* text :
       {"redis://old", "redis://old:", "redis://old:6379:", "sqlite:", "sqlite:/x.db", "old", "",
        "redis://[::1]", "redis://app:pw@old", "redis://old:job@x", "redis://app:p:w@old",
        "redis://old?password=:job", "redis://old?password=a:job", "redis://old?token_base=x:job"}) {
    EXPECT_THAT(refusal(text), HasSubstr("has no name behind the URL: write URL:NAME")) << text;
  }
  for (const auto* text : {"redis://old:6379", "redis://app:***@old:6379", "redis://old:6379/2",
                           "redis://[::1]:6379", "zk://a:2181,b:2181", "zk://a:2181,b", "zk://a:2181/locks",
                           "postgresql://old:5432/app?sslmode=require"}) {
    EXPECT_THAT(refusal(text), HasSubstr("write " + std::string{text} + ":NAME")) << text;
  }
  EXPECT_THAT(refusal("redis://old:50%"), HasSubstr("% is %25"));
}

}  // namespace
}  // namespace holdfast::test
