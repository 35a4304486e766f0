#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "routines/against_model.hpp"
#include "routines/mariadb/mariadb_caller.hpp"

namespace holdfast {
namespace {

RC_GTEST_PROP(mariadb_model, gives_the_same_answers, ()) {
  test::answers_as_the_model<test::mariadb_server, test::mariadb_caller>();
}

}  // namespace
}  // namespace holdfast
