// SPDX-License-Identifier: Apache-2.0
// The search for the primary that Sentinels monitor, step by step.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "stores/redis/link/sentinel/primary_tracker.hpp"
#include "stores/redis/link/sentinel/search.hpp"
#include "stores/redis/protocol/replies.hpp"
#include "stores/redis/protocol/resp.hpp"
#include "stores/redis/protocol/sentinel_replies.hpp"
#include "unit/redis_values.hpp"

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const server_address former{"10.0.0.1", "6379"};
const server_address current{"10.0.0.2", "6379"};

// ---- sentinel_search

/// Three Sentinels of a URL, and the servers that they name.
class redis_sentinel_search : public testing::Test {
 protected:
  /// What a Sentinel answers: a server, the names that it knows instead, or nothing.
  using said = std::variant<server_address, std::vector<std::string>, connection_error>;

  static settings settings_of_three() {
    settings s;
    s.sentinel.addresses = {{"s1", "26379"}, {"s2", "26379"}, {"s3", "26379"}};
    return s;
  }
  /// \return why the search has failed; empty: it has not.
  std::optional<connection_error> run() {
    steps_.clear();
    const auto part_of = [](std::size_t parts) { return ", 1 of " + std::to_string(parts); };
    try {
      (void)search_.run({[&](std::size_t sentinel, std::size_t parts) {
                           steps_.push_back("s" + std::to_string(sentinel + 1) + part_of(parts));
                           return answer_of(sentinel);
                         },
                         [&](const sentinel_search::answer& from, std::size_t parts) {
                           steps_.push_back(from.primary->place() + part_of(parts));
                           const auto refused = refused_.find(from.primary->place());
                           if (refused != refused_.end()) throw connection_error{refused->second};
                           return connection{};
                         }});
    } catch (const connection_error& failed) {
      return failed;
    }
    return std::nullopt;
  }
  connection_error failed_search() {
    const auto failed = run();
    if (failed) return *failed;
    ADD_FAILURE() << "the search has led to a server";
    return failure_of({});
  }
  static connection_error failure_of(failure reason, bool retryable = true) {
    return {std::move(reason), retryable};
  }
  static connection_error unreachable() {
    return failure_of({errc::unavailable, "cannot connect: Connection refused"});
  }
  static connection_error replica() { return failure_of({errc::unavailable, "the server is a replica"}); }
  static connection_error wrong_password() {
    return failure_of({errc::permission_denied, "the server answers: WRONGPASS"}, false);
  }

  std::vector<said> said_{unreachable(), unreachable(), unreachable()};  // by each Sentinel
  std::map<std::string, connection_error> refused_;                      // servers that are no primaries
  std::vector<std::string> steps_;

  const settings settings_ = settings_of_three();
  sentinel_search search_{settings_, nullptr};

 private:
  sentinel_search::answer answer_of(std::size_t sentinel) {
    const said& here = said_.at(sentinel);
    if (const auto* problem = std::get_if<connection_error>(&here)) throw connection_error{*problem};
    sentinel_search::answer from;
    from.sentinel = sentinel;
    if (const auto* server = std::get_if<server_address>(&here)) from.primary = *server;
    if (const auto* names = std::get_if<std::vector<std::string>>(&here)) from.names = *names;
    return from;
  }
};

TEST_F(redis_sentinel_search, asks_the_first_and_connects_where_it_says) {
  said_[0] = current;
  EXPECT_FALSE(run());
  EXPECT_THAT(steps_, ElementsAre("s1, 1 of 4", "10.0.0.2:6379, 1 of 2"));
}

TEST_F(redis_sentinel_search, leaves_time_for_the_other_sentinels_and_for_the_server) {
  said_ = {unreachable(), former, current};
  refused_.emplace(former.place(), replica());
  EXPECT_FALSE(run());
  EXPECT_THAT(steps_, ElementsAre("s1, 1 of 4", "s2, 1 of 3", "10.0.0.1:6379, 1 of 2", "s3, 1 of 2",
                                  "10.0.0.2:6379, 1 of 1"));
}

TEST_F(redis_sentinel_search, asks_the_one_first_that_was_of_use_and_those_last_that_were_not) {
  said_ = {unreachable(), std::vector<std::string>{}, current};
  EXPECT_FALSE(run());
  said_[2] = unreachable();
  EXPECT_TRUE(run());
  EXPECT_THAT(steps_, ElementsAre("s3, 1 of 4", "s1, 1 of 3", "s2, 1 of 2"));
  search_.put(1, true);
  EXPECT_TRUE(run());
  EXPECT_THAT(steps_, ElementsAre("s2, 1 of 4", "s3, 1 of 3", "s1, 1 of 2"));
}

TEST_F(redis_sentinel_search, tries_no_server_twice) {
  said_ = {former, former, former};
  refused_.emplace(former.place(), replica());
  const auto failed = failed_search();
  EXPECT_THAT(steps_, ElementsAre("s1, 1 of 4", "10.0.0.1:6379, 1 of 2", "s2, 1 of 3", "s3, 1 of 2"));
  EXPECT_TRUE(failed.retryable);
  EXPECT_EQ(failed.reason.code, errc::unavailable);
  EXPECT_THAT(failed.reason.message,
              HasSubstr("s1:26379 names 10.0.0.1:6379: the server is a replica; s2:26379 names 10.0.0.1:6379 "
                        "too; s3:26379 names 10.0.0.1:6379 too"));
}

TEST_F(redis_sentinel_search, says_what_became_of_each) {
  said_ = {unreachable(), std::vector<std::string>{"other", "third"}, former};
  refused_.emplace(former.place(), replica());
  const auto failed = failed_search();
  EXPECT_TRUE(failed.retryable);
  EXPECT_EQ(failed.reason.code, errc::unavailable);
  EXPECT_THAT(failed.reason.message,
              AllOf(HasSubstr("s1:26379: cannot connect"),
                    HasSubstr("s2:26379 does not know it, but knows other, third"),
                    HasSubstr("s3:26379 names 10.0.0.1:6379: the server is a replica")));
}

TEST_F(redis_sentinel_search, is_not_repeated_where_no_sentinel_knows_the_name) {
  said_ = {std::vector<std::string>{"other"}, std::vector<std::string>{}, std::vector<std::string>{"other"}};
  const auto failed = failed_search();
  EXPECT_FALSE(failed.retryable);
  EXPECT_EQ(failed.reason.code, errc::invalid_url);
  EXPECT_THAT(failed.reason.message, HasSubstr("correct the name of the primary in the store's URL"));
}

TEST_F(redis_sentinel_search, is_repeated_where_a_sentinel_may_still_know_the_name) {
  said_ = {std::vector<std::string>{}, unreachable(), std::vector<std::string>{}};
  EXPECT_TRUE(failed_search().retryable);
}

TEST_F(redis_sentinel_search, is_not_repeated_where_all_refuse_the_login) {
  said_ = {wrong_password(), wrong_password(), wrong_password()};
  const auto failed = failed_search();
  EXPECT_FALSE(failed.retryable);
  EXPECT_EQ(failed.reason.code, errc::permission_denied);
}

TEST_F(redis_sentinel_search, is_not_repeated_where_the_primary_refuses_the_login) {
  said_ = {current, current, current};
  refused_.emplace(current.place(), wrong_password());
  const auto failed = failed_search();
  EXPECT_FALSE(failed.retryable);
  EXPECT_EQ(failed.reason.code, errc::permission_denied);
}

TEST_F(redis_sentinel_search, ends_when_the_client_is_closed) {
  said_[0] = failure_of({errc::closed, "the client is closed"}, false);
  EXPECT_EQ(failed_search().reason.code, errc::closed);
  EXPECT_EQ(steps_.size(), 1U);
}

TEST_F(redis_sentinel_search, repeats_no_more_than_a_part_of_an_error) {
  said_[0] = failure_of({errc::unavailable, std::string(10'000, 'x') + "\x1b[2J\n"});
  said_[1] = failure_of({errc::unavailable, "a\nb\x1b[2J"});
  const std::string text = failed_search().reason.message;
  EXPECT_LT(text.size(), 1'000U);
  EXPECT_THAT(text, AllOf(Not(HasSubstr("\n")), Not(HasSubstr("\x1b")), HasSubstr("a?b?[2J")));
}

// ---- replies

TEST(redis_sentinel_replies, to_the_question_for_an_address_are_a_host_and_a_port) {
  EXPECT_EQ(primary_address_in(list({text("10.0.0.2"), text("6379")})), current);
  EXPECT_EQ(primary_address_in(list({text("::1"), text("6379")}))->place(), "[::1]:6379");
  EXPECT_EQ(primary_address_in(list({text("db-1.example"), text("65535")}))->place(), "db-1.example:65535");
  EXPECT_EQ(primary_address_in(value{}), std::nullopt) << "it does not know the name";
}

TEST(redis_sentinel_replies, of_another_shape_are_no_address) {
  const std::vector<value> wrong{
      text("10.0.0.2"),
      list({}),
      list({text("10.0.0.2")}),
      list({text("10.0.0.2"), text("6379"), text("more")}),
      list({text("10.0.0.2"), number(6379)}),
      list({text(""), text("6379")}),
      list({text("10.0.0.2"), text("")}),
      list({text("10.0.0.2"), text("0")}),
      list({text("10.0.0.2"), text("65536")}),
      list({text("10.0.0.2"), text("-1")}),
      list({text("10.0.0.2"), text("6379x")}),
      list({text("10.0.0.2"), text("99999999999999999999")}),
      list({text("a b"), text("6379")}),
      list({text("a\nb"), text("6379")}),
      list({text("user@host"), text("6379")}),
      list({text("/run/redis.sock"), text("6379")}),
      list({text(std::string(256, 'a')), text("6379")}),
      list({list({text("10.0.0.2")}), text("6379")}),
      error_of("ERR unknown command"),
      push({text("10.0.0.2"), text("6379")}),
  };
  for (const value& each : wrong) EXPECT_THROW((void)primary_address_in(each), misunderstood);
}

TEST(redis_sentinel_replies, name_the_primaries_that_are_known) {
  const auto primary = [](const std::string& name) {
    return list({text("flags"), text("master"), text("name"), text(name), text("ip"), text("10.0.0.1")});
  };
  EXPECT_THAT(primary_names_in(list({primary("one"), primary("a\nb"), primary("two")})),
              ElementsAre("one", "two"));
  EXPECT_THAT(primary_names_in(error_of("NOPERM")), IsEmpty());
  EXPECT_THAT(primary_names_in(list({text("name"), list({text("name")}), value{}})), IsEmpty());
  std::vector<value> many;
  for (int i = 0; i < 1'000; ++i) many.push_back(primary("p" + std::to_string(i)));
  EXPECT_LE(primary_names_in(list(many)).size(), 10U);
}

TEST(redis_sentinel_replies, announce_a_switch_of_one_primary) {
  const auto announced = [](const std::string& channel, const std::string& payload) {
    return push({text("message"), text(channel), text(payload)});
  };
  EXPECT_TRUE(
      announces_switch(announced("+switch-master", "mymaster 10.0.0.1 6379 10.0.0.2 6379"), "mymaster"));
  EXPECT_FALSE(
      announces_switch(announced("+switch-master", "mymaster2 10.0.0.1 6379 10.0.0.2 6379"), "mymaster"));
  EXPECT_FALSE(announces_switch(announced("+switch-master", ""), "mymaster"));
  EXPECT_FALSE(announces_switch(announced("+sdown", "mymaster 10.0.0.1 6379 10.0.0.2 6379"), "mymaster"));
  EXPECT_FALSE(announces_switch(push({text("subscribe"), text("+switch-master"), value{}}), "mymaster"));
  EXPECT_FALSE(announces_switch(push({}), "mymaster"));
  const std::string promotion = "+failover-state-reconf-slaves";
  EXPECT_TRUE(announces_switch(announced(promotion, "master mymaster 10.0.0.1 6379"), "mymaster"));
  EXPECT_FALSE(announces_switch(announced(promotion, "master mymaster2 10.0.0.1 6379"), "mymaster"));
  EXPECT_FALSE(announces_switch(announced(promotion, "mymaster 10.0.0.1 6379"), "mymaster"));
}

TEST(redis_sentinel_replies, of_any_length_are_read_up_to_a_bound) {
  parser bounded{1'000};
  bounded.feed("*2\r\n$3\r\nabc\r\n$600\r\n" + std::string(600, 'x') + "\r\n");
  EXPECT_TRUE(bounded.next());
  bounded.feed("*2\r\n$3\r\nabc\r\n$600\r\n" + std::string(600, 'x') + "\r\n");
  EXPECT_TRUE(bounded.next()) << "each message counts by itself";
  bounded.feed("$1000000\r\n");
  EXPECT_FALSE(bounded.next());
  bounded.feed(std::string(1'000, 'x'));
  EXPECT_THROW((void)bounded.next(), parser::garbage);
  parser lists{1'000};
  lists.feed("*1000000\r\n");
  const auto read = [&] {
    for (int i = 0; i < 1'000; ++i) {
      lists.feed("_\r\n");
      (void)lists.next();
    }
  };
  EXPECT_THROW(read(), parser::garbage);
}

TEST(redis_replies, of_a_replica_are_known_wherever_the_error_stands) {
  EXPECT_TRUE(is_from_replica(error_of("READONLY You can't write against a read only replica.")));
  EXPECT_TRUE(is_from_replica(error_of("ERR Error running script (f_1): @user_script:1: READONLY no")));
  EXPECT_TRUE(is_from_replica(list({text("1"), list({text("1"), error_of("READONLY no")})})));
  EXPECT_FALSE(is_from_replica(list({text("READONLY "), error_of("OOM no")})));
  EXPECT_FALSE(is_from_replica(text("READONLY ")));
}

// ---- question_limit

TEST(redis_question_limit, bounds_questions_by_time) {
  question_limit limit;
  const question_limit::time_point start{100h};
  int count = 0;
  while (count < 100 && limit.take(start)) ++count;
  EXPECT_GE(count, 4) << "failovers in a row are followed";
  EXPECT_LT(count, 20);
  EXPECT_FALSE(limit.take(start + 900ms));
  EXPECT_TRUE(limit.take(start + 1s));
  EXPECT_FALSE(limit.take(start + 1900ms));
  int later = 0;
  while (later < 100 && limit.take(start + 24h)) ++later;
  EXPECT_EQ(later, count) << "what is not used is not saved";
}

// ---- whereabouts

TEST(redis_whereabouts, know_where_a_report_leads_away) {
  whereabouts primary;
  EXPECT_EQ(primary.place(), "");
  primary.begin_search();
  primary.lead_to(former);
  primary.end_search();
  EXPECT_EQ(primary.place(), "10.0.0.1:6379");
  EXPECT_FALSE(primary.report(former));
  EXPECT_TRUE(primary.report(current));
}

TEST(redis_whereabouts, keep_a_report_that_comes_while_the_client_connects) {
  whereabouts primary;
  primary.begin_search();
  primary.lead_to(former);
  EXPECT_TRUE(primary.report(current)) << "nothing to hang up on yet";
  primary.end_search();
  EXPECT_EQ(primary.move(), current);
  primary.begin_search();
  primary.lead_to(current);
  primary.end_search();
  EXPECT_EQ(primary.move(), std::nullopt);
  EXPECT_FALSE(primary.take_wrong_report());
}

TEST(redis_whereabouts, forget_what_was_reported_before_the_search) {
  whereabouts primary;
  primary.begin_search();
  EXPECT_TRUE(primary.report(former));
  primary.begin_search();
  primary.begin_search();  // the one before has failed
  EXPECT_EQ(primary.place(), "");
  primary.lead_to(current);
  primary.end_search();
  EXPECT_EQ(primary.move(), std::nullopt);
  EXPECT_TRUE(primary.take_wrong_report());
  EXPECT_FALSE(primary.take_wrong_report()) << "once";
}

}  // namespace
}  // namespace holdfast::redis
