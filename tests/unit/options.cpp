// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <gmock/gmock.h>
#include <limits>
#include <string>
#include <vector>

#include "support/failing.hpp"
#include <holdfast/boot_clock.hpp>
#include <holdfast/error.hpp>
#include <holdfast/options.hpp>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

/// Whether a setter refuses as it should: by code, naming the option.
void expect_refusal(const std::string& option, const std::function<void()>& set) {
  const auto failed = test::failure_of(set);
  EXPECT_EQ(failed.code, errc::invalid_argument) << option;
  EXPECT_THAT(failed.text, testing::StartsWith(option + ": "));
}

TEST(options, have_the_documented_defaults) {
  const lock_options locks;
  EXPECT_EQ(locks.ttl(), 30s);
  EXPECT_TRUE(locks.renewal());
  EXPECT_FALSE(locks.wait_limit());
  EXPECT_EQ(locks.label(), "");
  EXPECT_EQ(locks.drift_margin(), 302ms) << "1 % of the ttl and 2 ms";
  EXPECT_EQ(locks.retry().first(), 5ms);
  EXPECT_EQ(locks.retry().longest(), 1s);
  EXPECT_EQ(locks.retry().limit(), 10s);
  EXPECT_EQ(client_options{}.flush_limit(), 2s);
}

TEST(options, are_set_in_one_expression) {
  const auto locks =
      lock_options{}.ttl(10s).renewal(false).wait_limit(3s).label("reindex").drift_margin(1s).retry(
          retry_policy{}.first(2ms).longest(20ms).limit(0s));
  EXPECT_EQ(locks.ttl(), 10s);
  EXPECT_FALSE(locks.renewal());
  EXPECT_EQ(locks.wait_limit(), 3s);
  EXPECT_EQ(locks.label(), "reindex");
  EXPECT_EQ(locks.drift_margin(), 1s);
  EXPECT_EQ(locks.retry().first(), 2ms);
  EXPECT_EQ(locks.retry().longest(), 20ms);
  EXPECT_EQ(locks.retry().limit(), 0s);
  const auto all = client_options{}.locks(locks).flush_limit(0s).program("worker").password("secret");
  EXPECT_EQ(all.locks().label(), "reindex");
  EXPECT_EQ(all.flush_limit(), 0s);
  EXPECT_EQ(all.program(), "worker");
  EXPECT_EQ(all.password()(), "secret");
  EXPECT_FALSE(client_options{}.password("").password());
}

TEST(options, accept_the_ends_of_their_ranges_and_nothing_beyond) {
  EXPECT_EQ(lock_options{}.ttl(100ms).ttl(), 100ms);
  EXPECT_EQ(lock_options{}.ttl(24h).ttl(), 24h);
  for (const duration bad : {duration{99'999us}, duration{0}, duration{-1s}, duration{24h + 1us},
                             duration::max(), duration::min()}) {
    expect_refusal("ttl", [&] { lock_options{}.ttl(bad); });
  }
  EXPECT_EQ(lock_options{}.wait_limit(0s).wait_limit(), 0s);
  expect_refusal("wait_limit", [] { lock_options{}.wait_limit(-1us); });
  EXPECT_EQ(retry_policy{}.first(1ms).first(), 1ms);
  expect_refusal("first retry delay", [] { retry_policy{}.first(999us); });
  expect_refusal("longest retry delay", [] { retry_policy{}.first(50ms).longest(49ms); });
  expect_refusal("retry limit", [] { retry_policy{}.limit(-1us); });
  expect_refusal("flush_limit", [] { client_options{}.flush_limit(-1us); });
}

TEST(options, take_the_longest_duration_for_ever_without_an_overflow) {
  const auto first = retry_policy{}.first(duration::max());
  const std::vector<duration> all{first.first(),
                                  first.longest(),
                                  retry_policy{}.longest(duration::max()).longest(),
                                  retry_policy{}.limit(duration::max()).limit(),
                                  lock_options{}.wait_limit(duration::max()).wait_limit().value(),
                                  client_options{}.flush_limit(duration::max()).flush_limit()};
  for (const duration each : all) {
    EXPECT_GE(each, 24h * 365 * 99);
    EXPECT_GT(boot_clock::now() + each + each, boot_clock::now()) << each.count();
  }
}

TEST(options, keep_the_drift_margin_below_half_the_ttl_in_either_order) {
  EXPECT_EQ(lock_options{}.drift_margin(0s).drift_margin(), 0s);
  EXPECT_EQ(lock_options{}.ttl(1s).drift_margin(499ms).drift_margin(), 499ms);
  expect_refusal("drift_margin", [] { lock_options{}.ttl(1s).drift_margin(500ms); });
  expect_refusal("drift_margin", [] { lock_options{}.drift_margin(-1us); });
  expect_refusal("ttl", [] { lock_options{}.drift_margin(10s).ttl(20s); });
}

TEST(options, let_a_name_rest_for_a_limited_time) {
  EXPECT_EQ(lock_options{}.grace(), 0s);
  EXPECT_EQ(lock_options{}.at_least(), 0s);
  EXPECT_EQ(lock_options{}.grace(1h).grace(), 1h);
  EXPECT_EQ(lock_options{}.at_least(24h).at_least(), 24h);
  expect_refusal("grace", [] { lock_options{}.grace(1h + 1us); });
  expect_refusal("grace", [] { lock_options{}.grace(-1us); });
  expect_refusal("at_least", [] { lock_options{}.at_least(24h + 1us); });
  expect_refusal("at_least", [] { lock_options{}.at_least(-1us); });
}

TEST(options, keep_retries_in_order) {
  EXPECT_GE(retry_policy{}.first(3s).longest(), 3s) << "a first delay beyond the longest";
}

TEST(options, refuse_texts_that_cannot_be_shown) {
  EXPECT_EQ(lock_options{}.label(std::string(256, 'x')).label().size(), 256U);
  EXPECT_EQ(lock_options{}.label("").label(), "");
  const std::vector<std::string> bad{
      std::string(257, 'x'), "two\nlines", std::string("a\0b", 3), "\x1b[31m", "\xff", "\xc3"};
  for (const auto& text : bad) {
    expect_refusal("label", [&] { lock_options{}.label(text); });
    expect_refusal("program", [&] { client_options{}.program(text); });
  }
}

TEST(options, that_were_refused_are_what_they_were) {
  lock_options locks;
  expect_refusal("ttl", [&] { locks.ttl(1ms); });
  EXPECT_EQ(locks.ttl(), 30s);
  expect_refusal("label", [&] { locks.label("\n"); });
  EXPECT_EQ(locks.label(), "");
}

}  // namespace
}  // namespace holdfast
