#include "types/stepping_back.hpp"

#include <chrono>
#include <gtest/gtest.h>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;

TEST(stepping_back, is_for_who_has_let_go_after_a_try_in_vain) {
  stepping_back steps;
  steps.let_go();
  EXPECT_EQ(steps.longest_pause(), 0s) << "an unlock like any other";
  steps.tried_in_vain(1ms);
  EXPECT_EQ(steps.longest_pause(), 0s) << "it may hold nothing, or go on to something else";
  steps.let_go();
  EXPECT_EQ(steps.longest_pause(), 8ms);
  steps.step_back();
  EXPECT_EQ(steps.longest_pause(), 0s) << "once";
}

TEST(stepping_back, is_forgotten_when_a_try_succeeds) {
  stepping_back steps;
  steps.tried_in_vain(1ms);
  steps.let_go();
  steps.forget();
  EXPECT_EQ(steps.longest_pause(), 0s);
}

TEST(stepping_back, is_bounded_however_far_the_store_is) {
  stepping_back steps;
  steps.tried_in_vain(10s);
  steps.let_go();
  EXPECT_EQ(steps.longest_pause(), 1s);
}

}  // namespace
}  // namespace holdfast::detail
