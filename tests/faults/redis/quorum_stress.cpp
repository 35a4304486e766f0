// SPDX-License-Identifier: Apache-2.0
// Client processes contend for one name, while servers stand still, crash, and come back with nothing. The
// witness is no lock: it loses counts when two are inside at once. HOLDFAST_TEST_QUORUM_FAULTS says how many
// faults there are; a run of scripts/hunt has ten.

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "faults/faults.hpp"
#include "support/amount.hpp"
#include "support/redis_quorum.hpp"
#include "support/witness.hpp"

namespace holdfast::faults {
namespace {

using test::redis_quorum;

constexpr std::size_t processes = 4;
constexpr auto guard = 6s;  // as long as a ttl
constexpr int sections_at_once = 25;

class redis_quorum_stress : public testing::Test {
 protected:
  redis_quorum_stress() {
    for (std::size_t i = 0; i < servers_.size(); ++i) servers_.server(i).forget_start();
    for (std::size_t i = 0; i < processes; ++i) actors_.push_back(start(url_));
  }

  void contend(actor& by) {
    const std::string some = "contend stock " + file_ + ' ' + std::to_string(sections_at_once) + " ttl=6000";
    while (!is_over_ && !HasFailure()) {
      EXPECT_EQ(by.ask(some, 120s), "contended");
      sections_ += sections_at_once;
    }
  }

  /// From when on each server has a vote again, that has none now.
  [[nodiscard]] std::vector<std::size_t> voters() const {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < votes_from_.size(); ++i)
      if (votes_from_.at(i) <= boot_clock::now()) all.push_back(i);
    return all;
  }

  /// One fault on one of the servers that have a vote; or, if two have none, nothing.
  void interfere() {
    const auto all = voters();
    if (all.size() + 2 <= votes_from_.size()) {
      std::this_thread::sleep_for(10ms);  // a guard is no event that could be awaited
      return;
    }
    const std::size_t chosen = all.at(chance_() % all.size());
    test::redis_server& server = servers_.server(chosen);
    const std::chrono::milliseconds length{chance_() % 300};
    if (chance_() % 2 == 0) {
      server.stop();
      std::this_thread::sleep_for(length);
      server.go_on();
      ++stops_;
    } else {
      server.kill();
      std::this_thread::sleep_for(length);
      server.start_empty();
      // The server counts whole seconds of its uptime, and may count one more.
      votes_from_.at(chosen) = boot_clock::now() + guard + 1s;
      ++crashes_;
    }
  }

  redis_quorum servers_;
  test::scratch_folder folder_;
  std::string file_ = folder_.file("witness");
  test::witness inside_{file_};
  // A server that stands still for a moment costs a moment, not half a second.
  std::string url_ = servers_.guarded_url("?restart_guard=6s&node_timeout=100ms");
  std::vector<std::unique_ptr<actor>> actors_;
  std::array<boot_clock::time_point, 5> votes_from_{};
  std::minstd_rand chance_{20261125U};
  std::atomic<bool> is_over_ = false;
  std::atomic<std::int64_t> sections_ = 0;
  int stops_ = 0;
  int crashes_ = 0;
};

TEST_F(redis_quorum_stress, of_servers_that_stop_and_forget_lets_no_two_in_and_none_starve) {
  const char* const named = std::getenv("HOLDFAST_TEST_QUORUM_FAULTS");
  const int faults = named != nullptr ? std::atoi(named) : test::amount(3, 10);
  const int least_sections = test::amount(300, 2000);
  std::vector<std::jthread> running;
  for (const auto& each : actors_) running.emplace_back([this, &each] { contend(*each); });
  while ((stops_ + crashes_ < faults || sections_ < least_sections) && !HasFailure()) interfere();
  is_over_ = true;
  running.clear();
  EXPECT_EQ(inside_.overlaps(), 0);
  EXPECT_EQ(inside_.count(), sections_);
  EXPECT_EQ(inside_.fragile_count(), sections_);
  EXPECT_GT(crashes_, 0);
  EXPECT_GT(stops_, 0);
  std::printf("%lld sections, %d crashes, %d stops\n", static_cast<long long>(sections_), crashes_, stops_);
}

}  // namespace
}  // namespace holdfast::faults
