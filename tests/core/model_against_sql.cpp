// SPDX-License-Identifier: Apache-2.0
// Random commands on the model and on the real SQL text: the same replies, notifications and states, and what
// must be true of them, after every one. A failure is printed as the shortest sequence that shows it, with
// its seed: RC_PARAMS="seed=… max_success=10000" runs that one, or more of them.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/long_looks.hpp"
#include "core/random_commands.hpp"
#include "core/sqlite_comparison.hpp"

namespace holdfast {
namespace {

RC_GTEST_PROP(model_against_sql, gives_the_same_answers, ()) {
  const auto commands = *rc::gen::container<std::vector<test::command>>(test::any_command());
  static test::sqlite_comparison stores;  // to open a file takes longer than all that is then done with it
  static int sequences = 0;
  test::compare_replies(commands, stores, ++sequences);
}

TEST(long_looks, get_the_same_answers) {
  test::sqlite_comparison stores;
  test::long_looks{stores}.compare();
}

}  // namespace
}  // namespace holdfast
