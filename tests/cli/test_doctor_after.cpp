// SPDX-License-Identifier: Apache-2.0
// `holdfast doctor --after`: which token_base a fleet needs that moves to another store, on real ones; and
// what a fence of the resource makes of it.

#include <chrono>
#include <csignal>
#include <cstdint>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "doctor_fixture.hpp"
#include "support/redis_server.hpp"
#include "support/zookeeper_server.hpp"
#include <holdfast/holdfast.hpp>

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

class doctor_after : public doctor_test {
 protected:
  /// What it says of the tokens of a store that takes over from another.
  json tokens(const std::string& store, const std::string& former) {
    return condition(store, "tokens", {}, {"--after", former});
  }
  /// The option that its remedy names.
  static std::string option_in(const json& finding) {
    std::smatch found;
    const std::string remedy = finding["remedy"].get<std::string>();
    EXPECT_TRUE(std::regex_search(remedy, found, std::regex{"token_base=[1-9][0-9]*"})) << finding;
    return found.str();
  }
  static fencing_token token_of_a_hold(const std::string& url) {
    client locks{url};
    return mutex{locks, "stock"}.acquire().token();
  }
};

TEST_F(doctor_after, moves_a_fleet_from_redis_to_zookeeper_past_a_fence) {
  redis_server redis;
  zookeeper_server zookeeper;
  fence resource{file("tokens")};
  const fencing_token before = token_of_a_hold(redis.url());
  ASSERT_TRUE(resource.admit("stock", before));
  ASSERT_FALSE(resource.admit("stock", token_of_a_hold(zookeeper.url()))) << "a transaction number is small";

  const json advice = tokens(zookeeper.url(), redis.url());
  is(advice, "warning", "have come to");
  EXPECT_EQ(advice["subject"], "after " + redis.url());
  const std::string moved = zookeeper.url("?" + option_in(advice));
  const fencing_token after = token_of_a_hold(moved);
  EXPECT_TRUE(resource.admit("stock", after));
  EXPECT_FALSE(resource.admit("stock", token_of_a_hold(redis.url()))) << "a late writer of the former store";
  EXPECT_TRUE(resource.admit("stock", token_of_a_hold(moved)));

  is_kept(tokens(moved, redis.url()), "for 30 days more");
  // Back again: Redis draws less than the base.
  is(tokens(redis.url(), moved), "warning", "token_base=0");
  const std::string back = redis.url("?" + option_in(tokens(redis.url(), moved)));
  EXPECT_TRUE(resource.admit("stock", token_of_a_hold(back)));
}

/// The settings A, B and C of docs/moving.md: neighbours exclude each other.
TEST_F(doctor_after, moves_a_fleet_in_three_steps) {
  redis_server redis;
  zookeeper_server zookeeper;
  const std::string moved = zookeeper.url("?" + option_in(tokens(zookeeper.url(), redis.url())));
  const strings a{"--store", redis.url()};
  const strings b{"--store", moved, "--also", redis.url() + ":stock"};
  const strings c{"--store", moved};
  const auto run = [&](const strings& setting, const strings& command) {
    strings line{"run", "stock", "-q", "--wait", "0"};
    line.insert(line.end(), setting.begin(), setting.end());
    line.emplace_back("--");
    line.insert(line.end(), command.begin(), command.end());
    return holdfast(line).status;
  };
  const auto excluded_by = [&](const strings& setting) {
    const auto holder = start_holder("stock", setting);
    const std::vector<bool> all{run(a, {"true"}) == 75, run(b, {"true"}) == 75, run(c, {"true"}) == 75};
    holder->signal(SIGTERM);
    EXPECT_EQ(holder->wait().status, 128 + SIGTERM);
    return all;
  };
  EXPECT_THAT(excluded_by(a), testing::ElementsAre(true, true, false));
  EXPECT_THAT(excluded_by(b), testing::ElementsAre(true, true, true));
  EXPECT_THAT(excluded_by(c), testing::ElementsAre(false, true, true));

  const strings write{HOLDFAST_COMMAND, "fence", file("tokens"), "--", "true"};
  EXPECT_EQ(run(a, write), 0);
  EXPECT_EQ(run(b, write), 0);
  EXPECT_EQ(run(a, write), 65) << "refused, which is safe";
  EXPECT_EQ(run(c, write), 0);
  EXPECT_EQ(run(b, write), 0);
}

TEST_F(doctor_after, counts_tokens_that_the_former_store_has_forgotten_and_those_ahead_of_its_clock) {
  redis_server redis{{.own_clock = true}};
  zookeeper_server zookeeper;
  const auto needed = [&] {
    return std::stoull(
        option_in(tokens(zookeeper.url(), redis.url())).substr(std::string{"token_base="}.size()));
  };
  const std::uint64_t drawn = token_of_a_hold(redis.url()).value();
  redis.ask({"FLUSHALL"});
  EXPECT_GT(needed(), drawn);

  constexpr std::uint64_t year = 365 * 86'400'000'000ULL;
  redis.set_clock(24h * 365);
  EXPECT_GT(needed(), drawn + year) << "the server's clock, not this host's";
  EXPECT_GT(token_of_a_hold(redis.url()).value(), drawn + year);
  redis.set_clock(0h);
  EXPECT_GT(needed(), drawn + year) << "a name's token is ahead of the clock";
}

TEST_F(doctor_after, needs_no_base_between_clocks_that_agree) {
  redis_server redis;
  const fencing_token before = token_of_a_hold(redis.url());
  EXPECT_GT(token_of_a_hold(store()), before);
  is_kept(tokens(store(), redis.url()), "token_base=0");
  is_kept(tokens(redis.url(), store()), "token_base=0");
  redis_server behind{{.own_clock = true}};
  behind.set_clock(-10s);
  const json advice = tokens(behind.url(), store());
  is(advice, "warning", "token_base=0");
  EXPECT_GT(token_of_a_hold(behind.url('?' + option_in(advice))), token_of_a_hold(store()));
}

TEST_F(doctor_after, knows_how_far_an_ensemble_has_come) {
  zookeeper_server former;
  zookeeper_server other;
  const std::uint64_t drawn = token_of_a_hold(former.url()).value();
  is_kept(tokens(store(), former.url()), "token_base=0 suffices");
  const json advice = tokens(other.url(), former.url());
  is(advice, "warning", "have come to");
  EXPECT_GT(std::stoull(option_in(advice).substr(std::string{"token_base="}.size())), drawn);
  is_kept(tokens(other.url('?' + option_in(advice)), former.url()), "suffices");
}

TEST_F(doctor_after, prints_the_finding_as_every_other) {
  redis_server redis;
  zookeeper_server zookeeper;
  const auto run = holdfast({"doctor", "--store", zookeeper.url(), "--after", redis.url()});
  EXPECT_THAT(run.out, AllOf(HasSubstr("after " + redis.url() + ": 0 of 1 checks passed\n"),
                             HasSubstr("warning  tokens: the tokens of redis://"),
                             HasSubstr("mend: add token_base="), HasSubstr("the ensemble: ")));
  EXPECT_NE(run.status, 0);
}

TEST_F(doctor_after, shows_no_password_and_makes_nothing) {
  redis_server redis{{.password = "geheim"}};
  const std::string url = "redis://:geheim@127.0.0.1:" + std::to_string(redis.port()) + "?failover_guard=0";
  const auto run = holdfast({"doctor", "--all", "--store", store(), "--after", url});
  EXPECT_THAT(run.out + run.err, AllOf(HasSubstr("after redis://:***@127.0.0.1"), Not(HasSubstr("geheim"))));
  EXPECT_THAT(run.out, HasSubstr("the only check passed"));
  write_file(file("password"), "geheim\n");
  const std::string without = "redis://127.0.0.1:" + std::to_string(redis.port()) + "?failover_guard=0";
  EXPECT_EQ(holdfast({"doctor", "--store", store(), "--after", without}).status, 77);
  EXPECT_EQ(
      holdfast({"doctor", "--store", store(), "--after", without, "--after-password-file", file("password")})
          .status,
      run.status);
  EXPECT_EQ(holdfast({"doctor", "--after-password-file", file("password")}).status, 64);
  EXPECT_EQ(redis.ask({"DBSIZE"}), "0");
}

TEST_F(doctor_after, fails_where_the_former_store_cannot_be_examined) {
  redis_server redis;
  const std::string url = redis.url("?connect_timeout=1m");
  redis.kill();
  const auto run = holdfast({"doctor", "--store", store(), "--after", url});
  EXPECT_EQ(run.status, 69) << run.out;
  EXPECT_THAT(run.err, HasSubstr("cannot examine redis://"));
  EXPECT_EQ(holdfast({"doctor", "--after", ""}).status, 64);
  EXPECT_EQ(holdfast({"doctor", "--after", "redis://host?token_base=x"}).status, 64);
}

// The program gets the URL of the environment with its password masked: the same tokens have to be in it.
TEST_F(doctor_after, is_followed_by_the_programs_of_run) {
  const std::string base = "token_base=5000000000000000";
  const process::settings based{.environment = {"HOLDFAST_STORE=" + store() + "?" + base}};
  const auto run = holdfast({"run", "stock", "--", "sh", "-c",
                             "echo $HOLDFAST_STORE $HOLDFAST_TOKEN; " HOLDFAST_COMMAND " show stock --json"},
                            based);
  EXPECT_EQ(run.status, 0) << run.err;
  std::istringstream lines{run.out};
  std::string url;
  std::uint64_t token = 0;
  lines >> url >> token;
  EXPECT_THAT(url, HasSubstr(base));
  EXPECT_GT(token, 5'000'000'000'000'000U + 1'700'000'000'000'000U);
  json shown;
  lines >> shown;
  EXPECT_EQ(shown["holders"].at(0)["token"], token);
  EXPECT_EQ(show("stock")["last_token"], token - 5'000'000'000'000'000U) << "without the option";
}

}  // namespace
}  // namespace holdfast::test
