// SPDX-License-Identifier: Apache-2.0
// A user who may only lock calls the routines by hand, with arguments that no client sends.

#include "faults/servers/servers.hpp"

namespace holdfast::faults {
namespace {

class database_numbers : public on_each_database {
 protected:
  database_numbers() {
    server_->make_guest();
    guest_ = server_->connect("guest");
  }
  /// The first value of what it answers.
  std::string call(const std::string& routine, const std::string& arguments) {
    const auto answer = guest_(server_->call_of(routine, arguments));
    // By these numbers the routines refuse, and not the server of its own accord.
    if (answer.starts_with("-22023 ") || answer.starts_with("-1644 ")) return "refused";
    return answer.substr(0, answer.find('|'));
  }
  std::string acquire(const std::string& weight, const std::string& capacity, const std::string& ttl) {
    return call("acquire", "'stock', " + owner_ + ", " + server_->bytes("02", 16) + ", " + weight + ", " +
                               capacity + ", " + ttl + ", '{}', TRUE");
  }
  std::string downgrade(const std::string& weight) {
    const std::string token = call("find", "'stock', " + owner_);
    return call("downgrade", "'stock', " + owner_ + ", " + token + ", " + weight);
  }

  static constexpr const char* whole_ = "1073741824";
  static constexpr const char* ttl_ = "600000000";
  const std::string owner_ = server_->bytes("01", 16);
  database::session guest_;
};

TEST_P(database_numbers, of_a_claim_that_no_client_makes_are_refused) {
  client locks{url()};
  auto held = mutex{locks, "stock"}.acquire();
  for (const char* weight : {"-1073741824", "0", "1073741825", "NULL"}) {
    EXPECT_EQ(acquire(weight, whole_, ttl_), "refused") << weight;
  }
  for (const char* ttl : {"0", "-1", "NULL"}) EXPECT_EQ(acquire(whole_, whole_, ttl), "refused") << ttl;
  EXPECT_EQ(acquire("1", "NULL", ttl_), "refused");
  EXPECT_TRUE(locks.inspect("stock")->waiters.empty());
  EXPECT_FALSE(held.release());
  EXPECT_EQ(acquire("-1073741824", whole_, ttl_), "refused") << "others would fit beside it";
  EXPECT_TRUE(mutex(locks, "stock").try_lock());
}

TEST_P(database_numbers, of_a_hold_stay_within_its_weight) {
  EXPECT_EQ(acquire(whole_, whole_, ttl_), "0");
  for (const char* weight : {"-1", "0", "1073741825", "NULL"}) EXPECT_EQ(downgrade(weight), "0") << weight;
  client locks{url()};
  EXPECT_FALSE(mutex(locks, "stock").try_lock());
  EXPECT_EQ(downgrade("1"), "1");
  EXPECT_EQ(downgrade("1"), "1") << "as a request that is carried out twice";
  EXPECT_EQ(downgrade("2"), "0");
}

TEST_P(database_numbers, of_a_claim_that_waits_stay_as_they_are) {
  client locks{url()};
  auto held = mutex{locks, "stock"}.acquire();
  EXPECT_EQ(acquire(whole_, whole_, ttl_), "0") << "a place in the queue";
  EXPECT_EQ(downgrade("1"), "0");
  EXPECT_EQ(locks.inspect("stock")->waiters.at(0).mode, mode::exclusive);
}

TEST_P(database_numbers, of_the_largest_capacity_keep_nobody_from_an_answer) {
  const std::string most = "9223372036854775807";
  EXPECT_EQ(acquire(most, most, ttl_), "0");
  client locks{url()};
  EXPECT_EQ(failure_of([&] { (void)mutex(locks, "stock").try_lock(); }).code, errc::wrong_type);
  for (const std::string& weight : {std::string{"1"}, std::string{"1"}, most}) {
    EXPECT_EQ(acquire(weight, most, ttl_), "0") << "a place in the queue";
  }
  EXPECT_EQ(locks.force_release("stock"), 1U);
  const auto holders = locks.inspect("stock")->holders;
  ASSERT_EQ(holders.size(), 2U);
  EXPECT_EQ(locks.force_release("stock", holders[0].token), 1U);
  EXPECT_EQ(locks.force_release("stock"), 1U);
}

TEST_P(database_numbers, of_a_sweep_forget_no_token_that_the_clock_has_not_reached) {
  // No client connects, which would sweep as well. The token is as after a clock that was set back.
  EXPECT_EQ(acquire(whole_, whole_, ttl_), "0");
  server_->execute("DELETE FROM holdfast_locks_claims");
  server_->execute("UPDATE holdfast_locks SET token = token + 3600000000");
  server_->execute("UPDATE holdfast_locks_sweeps SET swept = 0");
  const auto count = [&] {
    return server_->number("SELECT count(*) FROM holdfast_locks WHERE name = 'stock'");
  };
  const auto swept = [&] { return server_->number("SELECT swept FROM holdfast_locks_sweeps"); };
  ASSERT_EQ(count(), 1);
  for (const char* numbers : {"-9000000000, 0, 256", "0, -1, 256", "0, 0, 0", "0, 0, -1", "0, 0, 1000000",
                              "NULL, 0, 256", "0, NULL, 256", "0, 0, NULL"}) {
    EXPECT_EQ(call("sweep", numbers), "refused") << numbers;
  }
  EXPECT_EQ(count(), 1);
  EXPECT_EQ(swept(), 0) << "a sweep that looks at no name keeps others from it";
  while (call("sweep", "0, 0, 256") == "1") continue;
  EXPECT_EQ(count(), 1);
  EXPECT_GT(swept(), 0);
}

HOLDFAST_ON_EACH_SERVER(database_numbers, database_kinds, any_kind<database>);

}  // namespace
}  // namespace holdfast::faults
