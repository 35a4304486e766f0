// A role that may only lock calls the routines by hand, with arguments that no client sends.

#include "faults/postgresql/on_postgresql.hpp"

namespace holdfast::faults {
namespace {

using testing::StartsWith;

class postgresql_numbers : public on_postgresql {
 protected:
  postgresql_numbers() {
    EXPECT_EQ(server_.ask("CREATE ROLE worker LOGIN"), "");
    EXPECT_TRUE(apply_schema(server_.url("?grant_lock=worker")));
    worker_ = server_.console("worker");
  }
  std::string acquire(const std::string& weight, const std::string& capacity, const std::string& ttl) {
    return acquire(owner_, "decode(repeat('02', 16), 'hex')", weight, capacity, ttl);
  }
  std::string acquire(const std::string& owner, const std::string& client, const std::string& weight,
                      const std::string& capacity, const std::string& ttl) {
    return worker_->ask("SELECT outcome FROM holdfast_locks_acquire('stock', " + owner + ", " + client +
                        ", " + weight + ", " + capacity + ", " + ttl + ", '{}', true)");
  }
  std::string downgrade(const std::string& weight) {
    return worker_->ask("SELECT d.done FROM holdfast_locks_find('stock', " + owner_ +
                        ") f, holdfast_locks_downgrade('stock', " + owner_ + ", f.place, " + weight + ") d");
  }
  std::string sweep(const std::string& numbers) {
    return worker_->ask("SELECT holdfast_locks_sweep(" + numbers + ')');
  }

  static constexpr const char* whole_ = "1073741824";
  static constexpr const char* ttl_ = "600000000";
  static constexpr const char* refused_ = "-22023";
  const std::string owner_ = "decode(repeat('01', 16), 'hex')";
  std::unique_ptr<test::postgresql_console> worker_;
};

TEST_F(postgresql_numbers, of_a_claim_that_no_client_makes_are_refused) {
  client locks{server_.url()};
  auto held = mutex{locks, "stock"}.acquire();
  for (const char* weight : {"-1073741824", "0", "1073741825", "NULL"}) {
    EXPECT_THAT(acquire(weight, whole_, ttl_), StartsWith(refused_)) << weight;
  }
  for (const char* ttl : {"0", "-1", "NULL"}) {
    EXPECT_THAT(acquire(whole_, whole_, ttl), StartsWith(refused_)) << ttl;
  }
  EXPECT_THAT(acquire("1", "NULL", ttl_), StartsWith(refused_));
  EXPECT_TRUE(locks.inspect("stock")->waiters.empty());
  EXPECT_FALSE(held.release());
  EXPECT_THAT(acquire("-1073741824", whole_, ttl_), StartsWith(refused_)) << "others would fit beside it";
  EXPECT_TRUE(mutex(locks, "stock").try_lock());
}

TEST_F(postgresql_numbers, of_a_hold_stay_within_its_weight) {
  EXPECT_EQ(acquire(whole_, whole_, ttl_), "0");
  for (const char* weight : {"-1", "0", "1073741825", "NULL"}) EXPECT_EQ(downgrade(weight), "0") << weight;
  client locks{server_.url()};
  EXPECT_FALSE(mutex(locks, "stock").try_lock());
  EXPECT_EQ(downgrade("1"), "1");
  EXPECT_EQ(downgrade("1"), "1") << "as a request that is carried out twice";
  EXPECT_EQ(downgrade("2"), "0");
}

TEST_F(postgresql_numbers, of_a_claim_that_waits_stay_as_they_are) {
  client locks{server_.url()};
  auto held = mutex{locks, "stock"}.acquire();
  EXPECT_EQ(acquire(whole_, whole_, ttl_), "0") << "a place in the queue";
  EXPECT_EQ(downgrade("1"), "0");
  EXPECT_EQ(locks.inspect("stock")->waiters.at(0).mode, mode::exclusive);
}

// The server sends no notification to an id of another length: whoever served the queue would fail.
TEST_F(postgresql_numbers, of_bytes_of_an_id_keep_no_holder_from_releasing) {
  client locks{server_.url()};
  auto held = mutex{locks, "stock"}.acquire();
  const std::string client_id = "decode(repeat('02', 16), 'hex')";
  for (const std::string count : {"5000", "17", "15", "0"}) {
    const std::string id = "decode(repeat('03', " + count + "), 'hex')";
    EXPECT_THAT(acquire(id, client_id, whole_, whole_, ttl_), StartsWith(refused_)) << count;
    EXPECT_THAT(acquire(owner_, id, whole_, whole_, ttl_), StartsWith(refused_)) << count;
  }
  EXPECT_THAT(acquire("NULL", client_id, whole_, whole_, ttl_), StartsWith(refused_));
  EXPECT_THAT(acquire(owner_, "NULL", whole_, whole_, ttl_), StartsWith(refused_));
  const std::string too_long = "repeat('m', 16777216)";
  EXPECT_THAT(worker_->ask("SELECT outcome FROM holdfast_locks_acquire('stock', " + owner_ + ", " +
                           client_id + ", 1, 1, 1, " + too_long + ", true)"),
              StartsWith(refused_));
  EXPECT_THAT(worker_->ask("SELECT holdfast_locks_annotate('stock', " + owner_ + ", 1, " + too_long + ')'),
              StartsWith(refused_));
  EXPECT_THAT(worker_->ask("SELECT outcome FROM holdfast_locks_acquire(repeat('n', 513), " + owner_ + ", " +
                           client_id + ", 1, 1, 1, '{}', true)"),
              StartsWith(refused_));
  EXPECT_FALSE(held.release());
}

TEST_F(postgresql_numbers, of_the_largest_capacity_keep_nobody_from_an_answer) {
  const std::string most = "9223372036854775807";
  EXPECT_EQ(acquire(most, most, ttl_), "0");
  client locks{server_.url()};
  EXPECT_EQ(failure_of([&] { (void)mutex(locks, "stock").try_lock(); }).code, errc::wrong_type);
  for (int each = 0; each < 2; ++each) EXPECT_EQ(acquire("1", most, ttl_), "0") << "a place in the queue";
  EXPECT_EQ(acquire(most, most, ttl_), "0") << "a place in the queue";
  EXPECT_EQ(locks.force_release("stock"), 1U);
  const auto holders = locks.inspect("stock")->holders;
  ASSERT_EQ(holders.size(), 2U);
  EXPECT_EQ(locks.force_release("stock", holders[0].token), 1U);
  EXPECT_EQ(locks.force_release("stock"), 1U);
}

TEST_F(postgresql_numbers, of_a_sweep_forget_no_token_that_the_clock_has_not_reached) {
  // No client connects, which would sweep as well. The token is as after a clock that was set back.
  EXPECT_EQ(acquire(whole_, whole_, ttl_), "0");
  EXPECT_EQ(
      server_.ask("DELETE FROM holdfast_locks_claims; UPDATE holdfast_locks SET token = token + 3600000000"),
      "");
  const auto count = [&] {
    return server_.number("SELECT count(*) FROM holdfast_locks WHERE name = 'stock'");
  };
  const auto swept = [&] { return server_.number("SELECT swept FROM holdfast_locks_sweeps"); };
  ASSERT_EQ(count(), 1);
  for (const char* numbers : {"-9000000000, 0, 256", "0, -1, 256", "0, 0, 0", "0, 0, -1", "0, 0, 1000000",
                              "NULL, 0, 256", "0, NULL, 256", "0, 0, NULL"}) {
    EXPECT_THAT(sweep(numbers), StartsWith(refused_)) << numbers;
  }
  EXPECT_EQ(count(), 1);
  EXPECT_EQ(swept(), 0) << "a sweep that looks at no name keeps others from it";
  EXPECT_EQ(sweep("0, 0, 256"), "1");
  EXPECT_EQ(sweep("0, 0, 256"), "0");
  EXPECT_EQ(count(), 1);
  EXPECT_GT(swept(), 0);
}

}  // namespace
}  // namespace holdfast::faults
