// The search for the primary that Sentinels monitor, step by step.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "stores/redis/link/sentinel/whereabouts.hpp"
#include "stores/redis/protocol/replies.hpp"
#include "stores/redis/protocol/resp.hpp"
#include "stores/redis/protocol/sentinel_query.hpp"
#include "stores/redis/protocol/sentinel_replies.hpp"

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using kind = value::kind;

const server_address former{"10.0.0.1", "6379"};
const server_address current{"10.0.0.2", "6379"};

value text(std::string s) { return {kind::text, 0, std::move(s), {}}; }
value list(std::vector<value> items) { return {kind::list, 0, {}, std::move(items)}; }
value push(std::vector<value> items) { return {kind::push, 0, {}, std::move(items)}; }
value error_of(std::string s) { return {kind::error, 0, std::move(s), {}}; }

// ---- sentinel_query

class redis_sentinel_query : public testing::Test {
 protected:
  /// The Sentinel that is to be count; nothing for another step.
  static std::optional<std::size_t> asked_in(const sentinel_query::step& step) {
    const auto* ask = std::get_if<sentinel_query::ask>(&step);
    return ask == nullptr ? std::nullopt : std::optional{ask->sentinel};
  }
  static std::string server_in(const sentinel_query::step& step) {
    const auto* connect = std::get_if<sentinel_query::connect>(&step);
    return connect == nullptr ? "none" : connect->server.place();
  }
  static sentinel_query::failed failure_in(const sentinel_query::step& step) {
    const auto* failed = std::get_if<sentinel_query::failed>(&step);
    if (failed != nullptr) return *failed;
    ADD_FAILURE() << "the search goes on";
    return {};
  }
  static failure unreachable() { return {errc::unavailable, "cannot connect: Connection refused"}; }
  static failure replica() { return {errc::unavailable, "the server is a replica"}; }

  sentinel_query query_{"mymaster", {{"s1", "26379"}, {"s2", "26379"}, {"s3", "26379"}}, {0, 1, 2}};
};

TEST_F(redis_sentinel_query, asks_the_first_and_connects_where_it_says) {
  EXPECT_EQ(asked_in(query_.begin()), 0U);
  EXPECT_EQ(server_in(query_.on_address(current)), "10.0.0.2:6379");
  EXPECT_EQ(query_.current(), 0U);
}

TEST_F(redis_sentinel_query, asks_in_the_order_given) {
  sentinel_query query{"mymaster", {{"s1", "1"}, {"s2", "2"}, {"s3", "3"}}, {2, 0, 1}};
  EXPECT_EQ(asked_in(query.begin()), 2U);
  EXPECT_EQ(asked_in(query.on_no_answer(unreachable(), true)), 0U);
  EXPECT_EQ(asked_in(query.on_no_answer(unreachable(), true)), 1U);
  EXPECT_EQ(query.current(), 1U);
}

TEST_F(redis_sentinel_query, leaves_time_for_the_other_sentinels_and_for_the_server) {
  EXPECT_EQ(std::get<sentinel_query::ask>(query_.begin()).parts, 4U);
  EXPECT_EQ(std::get<sentinel_query::ask>(query_.on_no_answer(unreachable(), true)).parts, 3U);
  EXPECT_EQ(std::get<sentinel_query::connect>(query_.on_address(former)).parts, 2U);
  EXPECT_EQ(std::get<sentinel_query::ask>(query_.on_refused(replica(), true)).parts, 2U);
  EXPECT_EQ(std::get<sentinel_query::connect>(query_.on_address(current)).parts, 1U);
}

TEST_F(redis_sentinel_query, asks_the_next_where_the_server_is_no_primary) {
  (void)query_.begin();
  (void)query_.on_address(former);
  EXPECT_EQ(asked_in(query_.on_refused(replica(), true)), 1U);
  EXPECT_EQ(server_in(query_.on_address(current)), "10.0.0.2:6379");
}

TEST_F(redis_sentinel_query, tries_no_server_twice) {
  (void)query_.begin();
  (void)query_.on_address(former);
  (void)query_.on_refused(replica(), true);
  EXPECT_EQ(asked_in(query_.on_address(former)), 2U);
  const auto failed = failure_in(query_.on_address(former));
  EXPECT_TRUE(failed.retryable);
  EXPECT_EQ(failed.reason.code, errc::unavailable);
  EXPECT_THAT(failed.reason.message,
              HasSubstr("s1:26379 names 10.0.0.1:6379: the server is a replica; s2:26379 names 10.0.0.1:6379 "
                        "too; s3:26379 names 10.0.0.1:6379 too"));
}

TEST_F(redis_sentinel_query, says_what_became_of_each) {
  (void)query_.begin();
  (void)query_.on_no_answer(unreachable(), true);
  (void)query_.on_unknown({"other", "third"});
  (void)query_.on_address(former);
  const auto failed = failure_in(query_.on_refused(replica(), true));
  EXPECT_TRUE(failed.retryable);
  EXPECT_EQ(failed.reason.code, errc::unavailable);
  EXPECT_THAT(failed.reason.message,
              AllOf(HasSubstr("s1:26379: cannot connect"),
                    HasSubstr("s2:26379 does not know it, but knows other, third"),
                    HasSubstr("s3:26379 names 10.0.0.1:6379: the server is a replica")));
}

TEST_F(redis_sentinel_query, is_not_repeated_where_no_sentinel_knows_the_name) {
  (void)query_.begin();
  (void)query_.on_unknown({"other"});
  (void)query_.on_unknown({});
  const auto failed = failure_in(query_.on_unknown({"other"}));
  EXPECT_FALSE(failed.retryable);
  EXPECT_EQ(failed.reason.code, errc::invalid_url);
  EXPECT_THAT(failed.reason.message, HasSubstr("correct the name of the primary in the store's URL"));
}

TEST_F(redis_sentinel_query, is_repeated_where_a_sentinel_may_still_know_the_name) {
  (void)query_.begin();
  (void)query_.on_unknown({});
  (void)query_.on_no_answer(unreachable(), true);
  EXPECT_TRUE(failure_in(query_.on_unknown({})).retryable);
}

TEST_F(redis_sentinel_query, is_not_repeated_where_all_refuse_the_login) {
  const failure refused{errc::permission_denied, "the server answers: WRONGPASS"};
  (void)query_.begin();
  (void)query_.on_no_answer(refused, false);
  (void)query_.on_no_answer(refused, false);
  const auto failed = failure_in(query_.on_no_answer(refused, false));
  EXPECT_FALSE(failed.retryable);
  EXPECT_EQ(failed.reason.code, errc::permission_denied);
}

TEST_F(redis_sentinel_query, is_not_repeated_where_the_primary_refuses_the_login) {
  const failure refused{errc::permission_denied, "the server answers: WRONGPASS"};
  (void)query_.begin();
  (void)query_.on_address(current);
  (void)query_.on_refused(refused, false);
  (void)query_.on_address(current);
  const auto failed = failure_in(query_.on_address(current));
  EXPECT_FALSE(failed.retryable);
  EXPECT_EQ(failed.reason.code, errc::permission_denied);
}

TEST_F(redis_sentinel_query, repeats_no_more_than_a_part_of_an_error) {
  (void)query_.begin();
  (void)query_.on_no_answer({errc::unavailable, std::string(10'000, 'x') + "\x1b[2J\n"}, true);
  (void)query_.on_no_answer({errc::unavailable, "a\nb\x1b[2J"}, true);
  const auto failed = failure_in(query_.on_no_answer(unreachable(), true));
  EXPECT_LT(failed.reason.message.size(), 1'000U);
  EXPECT_THAT(failed.reason.message,
              AllOf(Not(HasSubstr("\n")), Not(HasSubstr("\x1b")), HasSubstr("a?b?[2J")));
}

// ---- sentinel_order

TEST(redis_sentinel_order, has_the_one_that_was_of_use_first) {
  sentinel_order order{3};
  EXPECT_THAT(order.indices(), ElementsAre(0, 1, 2));
  order.put_first(2);
  EXPECT_THAT(order.indices(), ElementsAre(2, 0, 1));
  order.put_last(2);
  EXPECT_THAT(order.indices(), ElementsAre(0, 1, 2));
  order.put_last(0);
  EXPECT_THAT(order.indices(), ElementsAre(1, 2, 0));
  order.put_first(1);
  order.put_first(7);
  order.put_last(7);
  EXPECT_THAT(order.indices(), ElementsAre(1, 2, 0));
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
      list({text("10.0.0.2"), value{kind::number, 6379, {}, {}}}),
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
