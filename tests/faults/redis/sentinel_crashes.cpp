// SPDX-License-Identifier: Apache-2.0
// Primaries crash again and again under many clients, with grants that no replica has. With the failover
// guard no two ever hold. HOLDFAST_TEST_CRASHES says how often; a run of scripts/hunt
// has three.

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "faults/redis/sentinel.hpp"
#include "support/amount.hpp"

namespace holdfast::faults {
namespace {

/// From when until when a client may have relied on its lease, by the clock of leases. No lock keeps the
/// account: it is compared when all is over.
struct reliance {
  boot_clock::time_point from;
  boot_clock::time_point until;
  fencing_token token;
};

constexpr std::size_t names = 10;
constexpr std::size_t contenders_of_a_name = 5;

class redis_sentinel_crashes : public on_sentinels {
 protected:
  static constexpr auto ttl = 3s;

  redis_sentinel_crashes() {
    group_.primary().forget_start();
    group_.replicate();
    for (std::size_t i = 0; i < names * contenders_of_a_name; ++i) {
      contenders_.emplace_back([this, i](const std::stop_token& end) { contend(i, end); });
    }
  }

  /// Holds the lock now and again, for some time, and sometimes as long as it can.
  void contend(std::size_t number, const std::stop_token& end) {
    std::minstd_rand chance{static_cast<unsigned>(number + 1)};
    client& locks = clients_.at(number % clients_.size());
    mutex lock{locks, "name " + std::to_string(number % names),
               lock_options{}.ttl(ttl).retry(retry_policy{}.limit(60s))};
    while (!end.stop_requested()) {
      try {
        auto granted = lock.acquire(end);
        if (!granted) return;  // it is over
        lease held = std::move(*granted);
        reliance mine{boot_clock::now(), {}, held.token()};
        ++grants_;
        work(held, std::chrono::milliseconds{chance() % 400}, end);
        // Up to now; but where it is lost, no longer than it could rely on it.
        mine.until = boot_clock::now();
        if (!held.held()) mine.until = std::min(mine.until, held.deadline());
        static_cast<void>(held.release());
        accounts_.at(number).push_back(mine);
      } catch (const error&) {
        ++failures_;  // there was no primary for long
      }
    }
  }
  /// Until the lease is lost, or the time is over.
  static void work(const lease& held, std::chrono::milliseconds time, const std::stop_token& end) {
    std::mutex own;
    std::condition_variable_any never;
    std::unique_lock lock{own};
    never.wait_for(lock, held.lost(), time, [&] { return end.stop_requested(); });
  }
  void await_grants(std::int64_t more) {
    const auto wanted = grants_ + more;
    await([&] { return grants_ >= wanted; }, "nobody is granted a lock any more");
  }
  /// With the last grants on no replica.
  void crash_primary() {
    const auto former = group_.primary_index();
    const auto each_replica = [&](auto action) {
      for (std::size_t i = 0; i < group::count; ++i) {
        if (i != former) action(group_.server(i));
      }
    };
    each_replica([](test::redis_server& replica) { replica.stop(); });
    group_.server(former).ask({"CLIENT", "KILL", "TYPE", "replica"});
    await_grants(10);
    group_.server(former).kill();
    each_replica([](test::redis_server& replica) { replica.go_on(); });
    group_.await_failover_from(former);
    group_.server(former).start();
    group_.await_replica(former);
  }
  /// \return how many leases of one name overlap, or have a token that does not rise.
  int faults_of(std::size_t name) {
    std::vector<reliance> all;
    for (std::size_t i = name; i < accounts_.size(); i += names) {
      all.insert(all.end(), accounts_[i].begin(), accounts_[i].end());
    }
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.from < b.from; });
    int faults = 0;
    for (std::size_t i = 1; i < all.size(); ++i) {
      if (all[i].from < all[i - 1].until || all[i].token <= all[i - 1].token) ++faults;
    }
    return faults;
  }

  std::array<client, 5> clients_{client{url()}, client{url()}, client{url()}, client{url()}, client{url()}};
  std::array<std::vector<reliance>, names * contenders_of_a_name> accounts_;  // each its contender's
  std::atomic<std::int64_t> grants_ = 0;
  std::atomic<std::int64_t> failures_ = 0;
  std::vector<std::jthread> contenders_;

 private:
  [[nodiscard]] std::string url() const { return group_.guarded_url("?failover_guard=3s"); }
};

TEST_F(redis_sentinel_crashes, with_grants_that_no_replica_has_let_no_two_hold) {
  const char* const named = std::getenv("HOLDFAST_TEST_CRASHES");
  const int rounds = named != nullptr ? std::atoi(named) : test::amount(1, 3);
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    await_grants(50);
    crash_primary();
  }
  await_grants(50);
  contenders_.clear();
  for (std::size_t name = 0; name < names; ++name) EXPECT_EQ(faults_of(name), 0) << "name " << name;
  RecordProperty("grants", static_cast<int>(grants_));
  RecordProperty("failures", static_cast<int>(failures_));
  std::printf("%d crashes, %lld grants, %lld errors\n", rounds, static_cast<long long>(grants_),
              static_cast<long long>(failures_));
}

}  // namespace
}  // namespace holdfast::faults
