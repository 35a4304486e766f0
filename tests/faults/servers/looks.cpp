// SPDX-License-Identifier: Apache-2.0
// What a look costs a server: never in proportion to what lies there.

#include <algorithm>
#include <cstddef>
#include <string>

#include "faults/servers/servers.hpp"
#include "support/fault_proxy.hpp"

namespace holdfast::faults {
namespace {

template <class Server>
class looks : public on_each<Server> {
 protected:
  looks() {
    proxy_.forge([this](std::string_view request, std::string_view answer) {
      if (request != request_) {
        request_ = request;
        ++answers_;
        current_ = 0;
      }
      current_ += answer.size();
      longest_ = std::max(longest_, current_);
      bytes_ += answer.size();
      return std::string{answer};
    });
  }
  lease hold(const std::string& name = "stock") {
    return mutex{direct_, name, lock_options{}.ttl(1h)}.acquire();
  }
  struct cost {
    std::size_t answers = 0;
    std::size_t longest = 0;  // in bytes
    std::size_t bytes = 0;
  };
  template <class Call>
  cost cost_of(Call call) {
    (void)locks_.inspect("another", 0);                // it is connected
    (void)locks_.list();                               // and what it calls is prepared
    proxy_.interfere(test::direction::to_client, {});  // the thread of the proxy has done what it was doing
    answers_ = longest_ = current_ = bytes_ = 0;
    call();
    proxy_.interfere(test::direction::to_client, {});
    return {answers_, longest_, bytes_};
  }
  static bool are_in_order(const std::vector<claim_state>& claims) {
    return std::adjacent_find(claims.begin(), claims.end(), [](const auto& a, const auto& b) {
             return a.token >= b.token;
           }) == claims.end();
  }

  // The proxy's thread alone writes these:
  std::string request_;
  std::size_t answers_ = 0;
  std::size_t current_ = 0;
  std::size_t longest_ = 0;
  std::size_t bytes_ = 0;

  client direct_{this->url()};
  test::fault_proxy proxy_{this->server_->port()};
  client locks_{this->server_->url(proxy_.port(), "")};
};

class server_looks : public looks<server> {};

TEST_P(server_looks, at_the_holder_alone_read_no_queue) {
  const auto held = hold();
  server_->queue(held, 10'000, 0);
  std::optional<lock_state> seen;
  const cost of = cost_of([&] { seen = locks_.inspect("stock", 0); });
  ASSERT_TRUE(seen);
  ASSERT_EQ(seen->holders.size(), 1U);
  EXPECT_EQ(seen->holders[0].token, held.token());
  EXPECT_TRUE(seen->waiters.empty());
  EXPECT_EQ(of.answers, 1U);
  EXPECT_LT(of.longest, 5'000U);
}

TEST_P(server_looks, read_the_first_waiters_that_were_asked_for) {
  const auto held = hold();
  server_->queue(held, 10'000, 0);
  std::optional<lock_state> seen;
  const cost of = cost_of([&] { seen = locks_.inspect("stock", 100); });
  ASSERT_EQ(seen->waiters.size(), 100U);
  EXPECT_EQ(seen->waiters.front().token.value(), held.token().value() + 1);
  EXPECT_LE(of.answers, 2U);
  EXPECT_LT(of.bytes, 50'000U);
}

TEST_P(server_looks, read_a_long_queue_in_parts) {
  const auto held = hold();
  server_->queue(held, 10'000, 0);
  std::optional<lock_state> seen;
  const cost of = cost_of([&] { seen = locks_.inspect("stock"); });
  ASSERT_EQ(seen->holders.size(), 1U);
  EXPECT_EQ(seen->waiters.size(), 10'000U);
  EXPECT_TRUE(are_in_order(seen->waiters)) << "each once";
  EXPECT_GE(of.answers, 10'000U / 128);
  EXPECT_LT(of.longest, 64'000U);
}

TEST_P(server_looks, send_no_more_than_a_megabyte_at_once_of_whatever_somebody_has_written) {
  const auto held = hold();
  server_->queue(held, 200, 50'000);
  std::optional<lock_state> seen;
  EXPECT_LT(cost_of([&] { seen = locks_.inspect("stock"); }).longest, 1'000'000U);
  EXPECT_EQ(seen->waiters.size(), 200U);
  EXPECT_LT(cost_of([&] { EXPECT_EQ(locks_.list().size(), 1U); }).longest, 100'000U);
}

TEST_P(server_looks, of_a_listing_count_queues_and_do_not_read_them) {
  std::vector<lease> held;
  constexpr std::size_t names = 20;
  for (std::size_t i = 0; i < names; ++i) {
    held.push_back(hold("queue-" + std::to_string(i)));
    server_->queue(held.back(), 500 + i, 0);
  }
  std::vector<lock_summary> all;
  const cost of = cost_of([&] { all = locks_.list(); });
  ASSERT_EQ(all.size(), names);
  for (const lock_summary& each : all) {
    const auto number = std::stoul(each.name.substr(6));
    EXPECT_EQ(each.holders, 1U) << each.name;
    EXPECT_EQ(each.holder_token, held[number].token()) << each.name;
    EXPECT_EQ(each.waiters, 500 + number) << each.name;
  }
  EXPECT_LT(of.longest, 20'000U);
  EXPECT_LT(of.bytes, 100'000U);
}

TEST_P(server_looks, do_not_count_claims_that_have_ended) {
  const auto held = hold();
  server_->queue(held, 3, 0);
  server_->end_first_queued(held);
  const auto all = locks_.list();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].holders, 1U);
  EXPECT_EQ(all[0].holder_token, held.token());
  EXPECT_EQ(all[0].waiters, 2U);
  const auto seen = locks_.inspect("stock", 1);
  ASSERT_EQ(seen->waiters.size(), 1U) << "one that has ended is not the first";
  EXPECT_EQ(seen->waiters[0].token.value(), held.token().value() + 2);
}

HOLDFAST_ON_EACH_SERVER(server_looks, server_kinds,
                        [](const server_kind& kind) { return !kind.keeps_sessions; });

class database_looks : public looks<database> {};

TEST_P(database_looks, list_names_that_many_claims_of_the_dead_stand_before) {
  const auto dead = hold("a");
  server_->queue(dead, 3'000, 0);
  server_->execute("UPDATE holdfast_locks_claims SET expires = since");
  const auto held = hold("b");
  std::vector<lock_summary> all;
  const cost of = cost_of([&] { all = locks_.list(); });
  EXPECT_GE(of.answers, 3'000U / 1024) << "no call counts more than so many claims";
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].name, "b");
  EXPECT_EQ(locks_.list(true).size(), 2U);
}

HOLDFAST_ON_EACH_SERVER(database_looks, database_kinds, any_kind<database>);

}  // namespace
}  // namespace holdfast::faults
