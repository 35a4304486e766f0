// SPDX-License-Identifier: Apache-2.0
// A request that its client has given up for lost may be carried out all the same, late, beside the one that
// was sent in its stead: then an owner stands in the queue twice, in the model as in the SQL text.

#include <gtest/gtest.h>
#include <memory>

#include "core/describe.hpp"
#include "core/samples.hpp"
#include "core/sqlite_comparison.hpp"

namespace holdfast {
namespace {

using namespace test;

class claims_made_twice : public testing::Test {
 protected:
  /// Asks both, who have to agree.
  tickets::reply ask(task kind) {
    request_form r;
    r.kind = kind;
    r.name = "stock";
    r.owner = id(1);
    r.weight = store::full_capacity;
    r.capacity = store::full_capacity;
    r.ttl = 1s;
    r.wait = true;
    r.metadata = std::make_shared<const std::string>();
    const auto [model, real] = stores_.carry_out(r, id(200));
    EXPECT_EQ(describe(model.reply), describe(real.reply));
    return real.reply;
  }

 private:
  sqlite_comparison stores_;
};

TEST_F(claims_made_twice, are_found_where_the_first_stands) {
  const auto first = std::get<tickets::place>(ask(task::acquire));
  ask(task::acquire);
  const auto found = std::get<tickets::place>(ask(task::find));
  EXPECT_EQ(found.token, first.token);
  EXPECT_TRUE(found.granted);
}

TEST_F(claims_made_twice, are_withdrawn_one_by_one) {
  ask(task::acquire);
  ask(task::acquire);
  EXPECT_TRUE(std::holds_alternative<tickets::done>(ask(task::withdraw)));
  EXPECT_TRUE(std::holds_alternative<tickets::done>(ask(task::withdraw)));
  EXPECT_TRUE(std::holds_alternative<tickets::nothing>(ask(task::withdraw)));
}

}  // namespace
}  // namespace holdfast
