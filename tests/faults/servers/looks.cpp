// What a look costs a database server: never in proportion to what lies there.

#include <algorithm>
#include <cstddef>
#include <string>

#include "faults/servers/servers.hpp"
#include "support/fault_proxy.hpp"

namespace holdfast::faults {
namespace {

class database_looks : public on_each_database {
 protected:
  database_looks() {
    proxy_.forge([this](std::string_view request, std::string_view answer) {
      if (request != request_) {
        request_ = request;
        ++answers_;
        current_ = 0;
      }
      current_ += answer.size();
      longest_ = std::max(longest_, current_);
      return std::string{answer};
    });
  }
  /// So many claims behind the first of the name, as they stand in its queue. They end when that one does.
  void queue(const std::string& name, std::size_t count) {
    const std::string digits =
        "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION "
        "ALL "
        "SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)";
    const std::string number = "(a.d + 10 * b.d + 100 * c.d + 1000 * e.d)";
    server_->execute(
        "INSERT INTO holdfast_locks_claims (name, token, owner, client, weight, ttl, expires, since, "
        "metadata) SELECT h.name, h.token + 1 + " +
        number + ", h.owner, h.client, h.weight, h.ttl, h.expires, h.since, h.metadata FROM " +
        "holdfast_locks_claims h, " + digits + " a, " + digits + " b, " + digits + " c, " + digits +
        " e WHERE h.name = '" + name + "' AND " + number + " < " + std::to_string(count));
    server_->execute("UPDATE holdfast_locks SET token = token + " + std::to_string(count) +
                     " WHERE name = '" + name + "'");
  }
  struct cost {
    std::size_t answers = 0;
    std::size_t longest = 0;  // in bytes
  };
  template <class Call>
  cost cost_of(Call call) {
    (void)locks_.inspect("another", 0);                // it is connected
    (void)locks_.list();                               // and what it calls is prepared
    proxy_.interfere(test::direction::to_client, {});  // the thread of the proxy has done what it was doing
    answers_ = longest_ = current_ = 0;
    call();
    proxy_.interfere(test::direction::to_client, {});
    return {answers_, longest_};
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

  client direct_{url()};
  test::fault_proxy proxy_{server_->port()};
  client locks_{server_->url(proxy_.port(), "")};
  lock_options for_long_ = lock_options{}.ttl(1h);
};

TEST_P(database_looks, at_the_holder_alone_read_no_queue) {
  const auto held = mutex{direct_, "stock", for_long_}.acquire();
  queue("stock", 10'000);
  std::optional<lock_state> seen;
  const cost of = cost_of([&] { seen = locks_.inspect("stock", 0); });
  ASSERT_TRUE(seen);
  ASSERT_EQ(seen->holders.size(), 1U);
  EXPECT_EQ(seen->holders[0].token, held.token());
  EXPECT_TRUE(seen->waiters.empty());
  EXPECT_EQ(of.answers, 1U);
  EXPECT_LT(of.longest, 5'000U);
}

TEST_P(database_looks, read_the_first_waiters_that_were_asked_for) {
  const auto held = mutex{direct_, "stock", for_long_}.acquire();
  queue("stock", 10'000);
  std::optional<lock_state> seen;
  const cost of = cost_of([&] { seen = locks_.inspect("stock", 100); });
  ASSERT_EQ(seen->waiters.size(), 100U);
  EXPECT_EQ(seen->waiters.front().token.value(), held.token().value() + 1);
  EXPECT_EQ(of.answers, 2U);
}

TEST_P(database_looks, read_a_long_queue_in_parts) {
  const auto held = mutex{direct_, "stock", for_long_}.acquire();
  queue("stock", 5'000);
  std::optional<lock_state> seen;
  const cost of = cost_of([&] { seen = locks_.inspect("stock"); });
  ASSERT_EQ(seen->holders.size(), 1U);
  EXPECT_EQ(seen->waiters.size(), 5'000U);
  EXPECT_TRUE(are_in_order(seen->waiters)) << "each once";
  EXPECT_GE(of.answers, 5'000U / 64);
  EXPECT_LT(of.longest, 64'000U);
}

TEST_P(database_looks, send_no_more_than_a_megabyte_at_once_of_whatever_somebody_has_written) {
  const auto held = mutex{direct_, "stock", for_long_}.acquire();
  queue("stock", 100);
  server_->execute("UPDATE holdfast_locks_claims SET metadata = REPEAT('" + std::string(1000, 'x') +
                   "', 50)");
  std::optional<lock_state> seen;
  EXPECT_LT(cost_of([&] { seen = locks_.inspect("stock"); }).longest, 1'000'000U);
  EXPECT_EQ(seen->waiters.size(), 100U);
  EXPECT_LT(cost_of([&] { EXPECT_EQ(locks_.list().size(), 1U); }).longest, 100'000U);
}

TEST_P(database_looks, of_a_listing_count_queues_and_do_not_read_them) {
  std::vector<lease> held;
  constexpr std::size_t names = 20;
  for (std::size_t i = 0; i < names; ++i) {
    const std::string name = "queue-" + std::to_string(i);
    held.push_back(mutex{direct_, name, for_long_}.acquire());
    queue(name, 500 + i);
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
  EXPECT_GE(of.answers, names * 500 / 1024) << "no call counts more than so many claims";
  EXPECT_LT(of.longest, 20'000U);
}

TEST_P(database_looks, do_not_count_claims_that_have_ended) {
  const auto held = mutex{direct_, "stock", for_long_}.acquire();
  queue("stock", 3);
  const std::string second = std::to_string(held.token().value() + 1);
  server_->execute("UPDATE holdfast_locks_claims SET expires = since WHERE token = " + second);
  const auto all = locks_.list();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].holders, 1U);
  EXPECT_EQ(all[0].waiters, 2U);
  const auto seen = locks_.inspect("stock", 1);
  ASSERT_EQ(seen->waiters.size(), 1U) << "one that has ended is not the first";
  EXPECT_EQ(seen->waiters[0].token.value(), held.token().value() + 2);
}

TEST_P(database_looks, list_names_that_many_claims_of_the_dead_stand_before) {
  const auto dead = mutex{direct_, "a", for_long_}.acquire();
  queue("a", 3'000);
  server_->execute("UPDATE holdfast_locks_claims SET expires = since");
  const auto held = mutex{direct_, "b", for_long_}.acquire();
  const auto all = locks_.list();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].name, "b");
  EXPECT_EQ(locks_.list(true).size(), 2U);
}

HOLDFAST_ON_EACH_SERVER(database_looks, database_kinds, any_kind<database>);

}  // namespace
}  // namespace holdfast::faults
