// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <gtest/gtest.h>
#include <optional>
#include <rapidcheck/gtest.h>
#include <utility>
#include <variant>
#include <vector>

#include "core/long_looks.hpp"
#include "routines/against_model.hpp"
#include "routines/postgresql/postgresql_caller.hpp"
#include "support/joint_requests.hpp"
#include "support/request_form.hpp"

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

// acquire_all makes the rows of all names first.
TEST(postgresql_model, shows_no_name_behind_one_that_was_refused) {
  test::postgresql_server server;
  test::postgresql_caller real{server};
  ASSERT_EQ(test::number_in(real, "layout"), 2);
  test::server_comparison stores{real};
  test::request_form form;
  form.kind = test::task::acquire;
  form.ttl = std::chrono::seconds{30};
  std::vector<tickets::request> both;
  for (const auto& [name, owner] : {std::pair{"orders", 1}, {"orders", 2}, {"stock", 3}}) {
    form.name = name;
    form.owner = test::id(owner);
    if (owner == 1) {
      static_cast<void>(stores.carry_out(form.request(), test::id(100)));
    } else {
      both.push_back(form.request());
    }
  }
  static_cast<void>(stores.carry_out(test::joint(both), test::id(101)));
  form.kind = test::task::inspect;
  EXPECT_FALSE(
      std::get<std::optional<lock_state>>(stores.carry_out(form.request(), test::id(102)).real.reply));
  form.kind = test::task::list;
  form.idle = true;
  const auto listed =
      std::get<std::vector<lock_summary>>(stores.carry_out(form.request(), test::id(102)).real.reply);
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0].name, "orders");
}

}  // namespace
}  // namespace holdfast
