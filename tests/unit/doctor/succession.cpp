// SPDX-License-Identifier: Apache-2.0
// Whether one store's tokens exceed those of the store that was in use before it.

#include "stores/doctor/succession.hpp"

#include <chrono>
#include <cstdint>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "base/url.hpp"

namespace holdfast::doctor {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using origin = token_source::origin;

constexpr std::chrono::microseconds now{1'764'600'000'000'000};
constexpr std::uint64_t now_us = 1'764'600'000'000'000;
constexpr std::uint64_t day = 86'400'000'000;

token_source clock_source(std::chrono::microseconds least = 0us, std::chrono::microseconds most = 0us,
                          std::uint64_t base = 0) {
  return {.of = origin::clock, .least_ahead = least, .most_ahead = most, .transaction = 0, .base = base};
}
token_source transactions(std::uint64_t last, std::uint64_t base = 0) {
  return {.of = origin::transactions, .least_ahead = {}, .most_ahead = {}, .transaction = last, .base = base};
}
finding judged(const token_source& before, const token_source& here, std::uint64_t largest = 0) {
  return judge({"redis://old", before, fencing_token{largest}, here, now});
}
/// The base that the remedy names; zero: none.
std::uint64_t remedy_of(const finding& one) {
  const std::string mark = "token_base=";
  const auto at = one.remedy.find(mark);
  return at == std::string::npos ? 0 : std::stoull(one.remedy.substr(at + mark.size()));
}

constexpr std::uint64_t early_transaction = 0x1'0000'0005;

TEST(token_succession, names_a_base_that_clocks_need_a_month_to_reach) {
  const finding one = judged(clock_source(), transactions(early_transaction));
  EXPECT_EQ(one.result, grade::warning);
  EXPECT_EQ(one.condition, "tokens");
  EXPECT_EQ(one.subject, "after redis://old");
  EXPECT_THAT(one.observed, HasSubstr("have come to 1764600000000000"));
  EXPECT_THAT(one.observed, HasSubstr("begin at 4294967301 with token_base=0"));
  const std::uint64_t base = remedy_of(one);
  EXPECT_GE(base, now_us + 30 * day);
  EXPECT_LE(base, now_us + 31 * day);
  EXPECT_EQ(base % 1'000'000'000, 0U) << "for people";

  const finding later = judged(clock_source(), transactions(early_transaction, base));
  EXPECT_EQ(later.result, grade::kept);
  EXPECT_THAT(later.observed, HasSubstr("for 30 days more"));
}

TEST(token_succession, finds_a_base_too_small_once_less_than_a_day_is_left) {
  EXPECT_EQ(judged(clock_source(), transactions(1, now_us + day)).result, grade::kept);
  const finding one = judged(clock_source(), transactions(1, now_us + day - 2));
  EXPECT_EQ(one.result, grade::warning);
  EXPECT_GE(remedy_of(one), now_us + 30 * day);
}

TEST(token_succession, counts_on_no_transactions_of_a_log_that_may_be_made_anew) {
  const finding one = judged(clock_source(), transactions(std::uint64_t{1} << 40));
  EXPECT_GE(remedy_of(one), now_us + 30 * day);
}

TEST(token_succession, takes_the_clock_furthest_ahead_and_tokens_beyond_it) {
  EXPECT_GE(remedy_of(judged(clock_source(-1s, 24h), transactions(1))), now_us + 31 * day);
  const finding ahead = judged(clock_source(), transactions(1), now_us + 100 * day);
  EXPECT_GE(remedy_of(ahead), now_us + 130 * day) << "the clock was set back, say";
  EXPECT_EQ(judged(clock_source(), transactions(1, now_us + 90 * day), now_us + 100 * day).result,
            grade::warning);
}

TEST(token_succession, needs_no_base_between_two_clocks) {
  const finding one = judged(clock_source(), clock_source(-99ms));
  EXPECT_EQ(one.result, grade::kept);
  EXPECT_THAT(one.observed, HasSubstr("token_base=0"));
  EXPECT_THAT(one.observed, HasSubstr("suffices"));
  EXPECT_EQ(judged(clock_source(), clock_source(1h)).result, grade::kept);
}

TEST(token_succession, makes_up_for_a_clock_that_is_behind) {
  const finding one = judged(clock_source(), clock_source(-101ms, 1h));
  EXPECT_EQ(one.result, grade::warning);
  const std::uint64_t base = remedy_of(one);
  EXPECT_GE(base, 30 * day);
  EXPECT_LE(base, 31 * day);
  EXPECT_EQ(judged(clock_source(), clock_source(-101ms, 1h, base)).result, grade::kept);
  EXPECT_EQ(judged(clock_source(0us, 200ms), clock_source()).result, grade::warning);
  EXPECT_EQ(judged(clock_source(), clock_source(), now_us + day).result, grade::warning) << "a name's token";
}

TEST(token_succession, counts_the_base_of_the_former_store) {
  EXPECT_EQ(judged(clock_source(0us, 0us, 5 * day), clock_source()).result, grade::warning);
  EXPECT_EQ(judged(clock_source(0us, 0us, 5 * day), clock_source(0us, 0us, 5 * day)).result, grade::kept);
  EXPECT_GE(remedy_of(judged(transactions(7, now_us + 60 * day), clock_source())), 60 * day);
}

TEST(token_succession, leaves_an_ensemble_room_for_elections) {
  EXPECT_EQ(judged(transactions(early_transaction), clock_source()).result, grade::kept) << "far below";
  const finding one = judged(transactions(early_transaction), transactions(early_transaction));
  EXPECT_EQ(one.result, grade::warning);
  const std::uint64_t base = remedy_of(one);
  EXPECT_GE(base, early_transaction + (std::uint64_t{1} << 40));
  const finding later = judged(transactions(early_transaction), transactions(early_transaction, base));
  EXPECT_EQ(later.result, grade::kept);
  EXPECT_THAT(later.observed, Not(HasSubstr("day")));
}

TEST(token_succession, says_that_it_does_not_know) {
  const finding one = judged({}, transactions(1, now_us), 17);
  EXPECT_EQ(one.result, grade::unknown);
  EXPECT_THAT(one.observed, HasSubstr("the largest that it shows is 17"));
  EXPECT_THAT(judged({}, clock_source()).observed, HasSubstr("is none"));
}

TEST(token_succession, says_where_no_base_is_large_enough) {
  const finding one = judged(clock_source(), transactions(1), std::uint64_t{1} << 62);
  EXPECT_EQ(one.result, grade::broken);
  EXPECT_EQ(remedy_of(one), 0U);
}

TEST(token_succession, presumes_nothing_of_a_store_that_does_not_say) {
  EXPECT_GE(remedy_of(judged(clock_source(), {})), now_us + 30 * day);
}

TEST(token_sources, take_the_clocks_of_all_servers) {
  const auto server = [](std::chrono::microseconds ahead) {
    facts of{"db-1"};
    set_clock(of, ahead);
    return of;
  };
  token_source all;
  all.add_clock(facts{"silent"});
  EXPECT_EQ(all.of, origin::unknown);
  all.add_clock(server(50ms));
  EXPECT_EQ(all.of, origin::clock);
  EXPECT_EQ(all.least_ahead, 50ms);
  all.add_clock(server(-3s));
  all.add_clock(server(2s));
  EXPECT_EQ(all.least_ahead, -3s);
  EXPECT_EQ(all.most_ahead, 2s);
  EXPECT_EQ(own_clock().of, origin::clock);
  EXPECT_EQ(own_clock().most_ahead, 0us);
}

}  // namespace
}  // namespace holdfast::doctor
