// Random commands on the model and on PostgreSQL's routines, as in machine/model_against_sql.cpp.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "database/postgresql_caller.hpp"
#include "database/server_twins.hpp"
#include "database/tasks.hpp"
#include "machine/random_crowd.hpp"

namespace holdfast {
namespace {

RC_GTEST_PROP(postgresql_model, gives_the_same_answers, ()) {
  const auto commands = *rc::gen::container<std::vector<test::command>>(test::any_command());
  static test::postgresql_server server;
  static test::postgresql_caller real{server};
  static test::server_twins twins{real};
  static int crowds = 0;
  static const auto layout = test::number_in(real, "layout");  // and the tables are there
  RC_ASSERT(layout == 1);
  test::let_a_crowd_obey(commands, twins, ++crowds);
  // Where nothing is searched, nothing is.
  RC_ASSERT(
      server.number("SELECT count(*) FROM holdfast_locks_claims c JOIN holdfast_locks l ON l.name = c.name "
                    "WHERE c.token < l.oldest") == 0);
}

}  // namespace
}  // namespace holdfast
