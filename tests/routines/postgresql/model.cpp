#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "routines/against_model.hpp"
#include "routines/postgresql/postgresql_caller.hpp"

namespace holdfast {
namespace {

RC_GTEST_PROP(postgresql_model, gives_the_same_answers, ()) {
  test::answers_as_the_model<test::postgresql_server, test::postgresql_caller>();
}

}  // namespace
}  // namespace holdfast
