// SPDX-License-Identifier: Apache-2.0
// `holdfast serve`: one reading of all queues for all who ask.

#include <chrono>
#include <gmock/gmock.h>
#include <stdexcept>

#include "serve/investigation_cache.hpp"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class serve_investigation_cache : public testing::Test {
 protected:
  /// Asks at a time. A reading takes four seconds.
  void get(duration asked_at, duration changed_at = 0s) {
    const auto last = cache_.get({.asked_at = at(asked_at), .changed_at = at(changed_at)}, [this] {
      ++readings_;
      now_ += 4s;
      if (is_failing_) throw std::runtime_error{"the store is away"};
      return cli::investigation{.graph = graph_, .confirmed = graph_, .deadlocks = {}};
    });
    EXPECT_EQ(last.found.graph, graph_);
    taken_at_ = last.taken_at;
  }
  [[nodiscard]] static boot_clock::time_point at(duration after) {
    return boot_clock::time_point{1h} + after;
  }

  const std::shared_ptr<const cli::wait_graph> graph_ =
      std::make_shared<const cli::wait_graph>(std::vector<lock_state>{});
  boot_clock::time_point now_ = at(0s);
  cli::investigation_cache cache_{[this] { return now_; }};
  boot_clock::time_point taken_at_{};  // of the last answer
  int readings_ = 0;
  bool is_failing_ = false;
};

TEST_F(serve_investigation_cache, reads_once_for_all_who_ask_meanwhile_and_soon_after) {
  get(0s);
  for (const auto asked_at : {0s, 1s, 4s}) get(asked_at);
  now_ = at(6s) - 1us;
  get(6s - 1us);
  EXPECT_EQ(readings_, 1);
  EXPECT_EQ(taken_at_, at(0s)) << "when it began";
  now_ = at(6s);
  get(6s);
  EXPECT_EQ(readings_, 2);
  now_ = at(1h);
  get(9s);
  EXPECT_EQ(readings_, 2) << "who asked while it was made gets it, however late its turn";
}

TEST_F(serve_investigation_cache, gives_a_failure_only_to_those_who_asked_before_it) {
  is_failing_ = true;
  EXPECT_THROW(get(0s), std::runtime_error);
  EXPECT_THROW(get(3s), std::runtime_error);
  EXPECT_EQ(readings_, 1) << "a store in trouble is not asked once for each";
  is_failing_ = false;
  get(4s + 1us);
  EXPECT_EQ(readings_, 2);
}

TEST_F(serve_investigation_cache, gives_nobody_what_was_read_before_a_change_of_theirs) {
  get(0s);
  get(4s, 1us);
  EXPECT_EQ(readings_, 2) << "the first began before the change";
  get(5s, 4s);
  EXPECT_EQ(readings_, 2);
}

TEST_F(serve_investigation_cache, keeps_nothing_that_is_too_old_for_everybody) {
  get(0s);
  const auto before = graph_.use_count();
  now_ = at(6s) - 1us;
  cache_.expire();
  EXPECT_EQ(graph_.use_count(), before);
  now_ = at(6s);
  cache_.expire();
  EXPECT_EQ(graph_.use_count(), 1);
}

}  // namespace
}  // namespace holdfast::test
