// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/long_looks.hpp"
#include "routines/against_model.hpp"
#include "routines/mariadb/mariadb_caller.hpp"

namespace holdfast {
namespace {

RC_GTEST_PROP(mariadb_model, gives_the_same_answers, ()) {
  test::answers_as_the_model<test::mariadb_server, test::mariadb_caller>();
}

TEST(mariadb_model, gives_the_same_answers_to_long_looks) {
  test::mariadb_server server;
  test::mariadb_caller real{server};
  ASSERT_EQ(test::number_in(real, "layout"), 2);
  test::server_comparison stores{real};
  test::long_looks{stores}.compare();
}

}  // namespace
}  // namespace holdfast
