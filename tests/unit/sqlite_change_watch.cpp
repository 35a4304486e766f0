// SPDX-License-Identifier: Apache-2.0
// The watch on the file of a store, for observers.

#include <atomic>
#include <chrono>
#include <fstream>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <thread>

#include "runtime/event_loop.hpp"
#include "stores/sqlite/link/change_watch.hpp"
#include "support/scratch_folder.hpp"
#include "unit/comes_true.hpp"

namespace holdfast::sqlite {
namespace {

using namespace std::chrono_literals;

class sqlite_change_watch : public testing::Test {
 protected:
  void start() {
    const runtime::core_lock now{loop_};
    watch_.emplace(loop_, file_, [this] {
      loop_.assert_core_locked();
      calls_.fetch_add(1, std::memory_order_relaxed);
    });
  }
  void commit() const { std::ofstream{file_ + "-wal", std::ios::app} << "a commit"; }
  [[nodiscard]] bool is_called_after(int before) const {
    return test::comes_true([&] { return calls_.load(std::memory_order_relaxed) != before; });
  }

  test::scratch_folder folder_;
  const std::string file_ = folder_.file("locks.db");
  std::atomic<int> calls_ = 0;  // relaxed: this test orders nothing between the threads
  runtime::event_loop loop_;
  std::optional<change_watch> watch_;
};

TEST_F(sqlite_change_watch, notices_commits) {
  start();
  commit();
  EXPECT_TRUE(is_called_after(0));
}

// A race that ThreadSanitizer reports: the regular look was under way while the watch was destroyed.
TEST_F(sqlite_change_watch, may_be_destroyed_after_a_look) {
  commit();
  start();
  ASSERT_TRUE(is_called_after(0)) << "the first look sees a file that was not there before";
  watch_.reset();
  const int before = calls_;
  commit();
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(calls_, before);
}

}  // namespace
}  // namespace holdfast::sqlite
