// SPDX-License-Identifier: Apache-2.0
// A wall clock that jumps in one process, while the machine's own goes on; tests/actor/wall_clock.cpp does
// it.

#include "faults/sqlite/on_a_file.hpp"

namespace holdfast::faults {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;  // a sanitizer wants to be loaded first, and so does the clock
#else
constexpr bool sanitized = false;
#endif

class clocks : public on_a_file {
 protected:
  void SetUp() override {
    if (sanitized) GTEST_SKIP() << "not under a sanitizer";
    set_clock(0h);
    lives_elsewhen_ = std::make_unique<actor>(
        std::vector<std::string>{std::string{"LD_PRELOAD="} + HOLDFAST_TEST_WALL_CLOCK,
                                 "HOLDFAST_TEST_WALL_CLOCK=" + folder_.file("clock")});
    ASSERT_EQ(lives_elsewhen_->ask("open " + url()), "open");
  }
  void set_clock(std::chrono::hours ahead) const {
    write_bytes(folder_.file("clock"), std::to_string(std::chrono::seconds{ahead}.count()));
  }
  /// Sets the other process's wall clock, and sees that it did.
  void jump(std::chrono::hours by) {
    set_clock(by);
    long long there = 0;
    ASSERT_EQ(std::sscanf(lives_elsewhen_->ask("wall").c_str(), "wall %lld", &there), 1);
    const auto here = std::chrono::system_clock::now().time_since_epoch();
    EXPECT_LT(std::chrono::abs(std::chrono::seconds{there} - here - by), 60s) << "the clock did not jump";
  }

  std::unique_ptr<actor> lives_elsewhen_;
};

TEST_F(clocks, that_jump_end_nobody_elses_lease) {
  client locks = open();
  mutex lock{locks, "stock"};
  const auto held = lock.acquire();
  for (const auto by : {48h, -48h, 87'600h, 0h}) {
    jump(by);
    EXPECT_EQ(lives_elsewhen_->ask("hold stock within=0"), "refused") << by.count();
    EXPECT_EQ(lives_elsewhen_->ask("inspect stock"), "holders 1 waiters 0") << by.count();
    EXPECT_EQ(lives_elsewhen_->ask("cycle other 10"), "cycled");
  }
  EXPECT_TRUE(held.held());
}

TEST_F(clocks, that_jump_end_no_lease_of_their_own) {
  client locks = open();
  mutex lock{locks, "stock"};
  fencing_token last;
  const auto is_renewed_after = [&](auto by) {
    last = lives_elsewhen_->hold("stock ttl=2000");
    EXPECT_TRUE(last);
    jump(by);
    if (lock.try_lock_for(2500ms)) {
      lock.unlock();
      EXPECT_THAT(lives_elsewhen_->hear(), testing::StartsWith("lost "));
      lives_elsewhen_->ask("drop");
      return false;
    }
    EXPECT_EQ(lives_elsewhen_->ask("report"), "holding") << by.count();
    EXPECT_EQ(lives_elsewhen_->ask("release"), "released");
    return true;
  };
  for (const auto by : {48h, -48h}) {
    // A machine that stalls for a second and a half may let a lease of two end.
    EXPECT_TRUE(is_renewed_after(by) || is_renewed_after(by) || is_renewed_after(by)) << by.count();
  }
  EXPECT_GT(lock.acquire().token(), last);
}

TEST_F(clocks, that_jump_do_not_keep_the_dead_alive) {
  client locks = open();
  mutex lock{locks, "stock"};
  jump(48h);
  const auto first = lives_elsewhen_->hold("stock ttl=300");
  lives_elsewhen_->kill();
  const auto next = lock.try_acquire_for(60s);
  ASSERT_TRUE(next) << "it would have to wait for two days";
  EXPECT_GT(next->token(), first);
}

TEST_F(clocks, that_go_back_do_not_take_tokens_with_them) {
  client locks = open();
  mutex lock{locks, "stock"};
  auto last = lock.acquire().token();
  for (const auto by : {48h, -48h, -87'600h}) {
    jump(by);
    const auto there = lives_elsewhen_->hold("stock");
    EXPECT_GT(there, last) << by.count();
    EXPECT_EQ(lives_elsewhen_->ask("release"), "released");
    last = lock.acquire().token();
    EXPECT_GT(last, there) << by.count();
  }
}

}  // namespace
}  // namespace holdfast::faults
