#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/long_looks.hpp"
#include "routines/against_model.hpp"
#include "routines/postgresql/postgresql_caller.hpp"

namespace holdfast {
namespace {

RC_GTEST_PROP(postgresql_model, gives_the_same_answers, ()) {
  test::answers_as_the_model<test::postgresql_server, test::postgresql_caller>();
}

TEST(postgresql_model, gives_the_same_answers_to_long_looks) {
  test::postgresql_server server;
  test::postgresql_caller real{server};
  ASSERT_EQ(test::number_in(real, "layout"), 2);
  test::server_comparison stores{real};
  test::long_looks{stores}.compare();
}

}  // namespace
}  // namespace holdfast
