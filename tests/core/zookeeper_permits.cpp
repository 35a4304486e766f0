// SPDX-License-Identifier: Apache-2.0
// Claims of permits: their places in the line, and their leases.

#include <cstdint>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <variant>

#include "core/zookeeper_tree.hpp"

namespace holdfast::zookeeper {
namespace {

class zookeeper_permits : public zookeeper_contention {
 protected:
  zookeeper_permits() { wire_.create("/stock", 0, operation::made::container); }

  void claim(std::size_t number, std::int64_t permits) {
    test::request_form r;
    r.kind = test::task::acquire;
    r.name = "stock";
    r.owner = owner(number);
    r.capacity = 3;
    r.weight = permits;
    r.ttl = 30s;
    r.wait = true;
    session_.send(r, [this, number](outcome o) { got_[number] = std::move(o); });
  }
  [[nodiscard]] lock_state inspect() {
    outcome seen;
    begin_to_inspect(seen);
    wire_.serve(session_);
    return state_in(seen);
  }
  void begin_to_inspect(outcome& seen) {
    test::request_form r;
    r.kind = test::task::inspect;
    r.name = "stock";
    session_.send(r, [&seen](outcome o) { seen = std::move(o); });
  }
  [[nodiscard]] static lock_state state_in(const outcome& seen) {
    return std::get<std::optional<lock_state>>(std::get<tickets::reply>(seen)).value();
  }
};

// An operator has removed its place in the line, so that somebody else has its turn, too.
TEST_F(zookeeper_permits, keep_no_lease_that_was_made_before_its_parent_seemed_to_be_there) {
  claim(0, 2);
  while (wire_.next() != operation_kind::create || !wire_.all.contains("/stock/locks") ||
         wire_.all.at("/stock/locks").children.empty())
    wire_.serve_next(session_);
  wire_.serve_next(session_);
  ASSERT_FALSE(wire_.all.contains("/stock/leases"));
  wire_.create("/stock/leases", 0, operation::made::container);
  wire_.serve(session_);
  ASSERT_TRUE(is_granted(0));
  EXPECT_EQ(wire_.all.at("/stock/leases").children.size(), 2U);
}

TEST_F(zookeeper_permits, show_no_place_in_the_line_as_a_holder) {
  wire_.create("/stock/locks", 0, operation::made::container);
  wire_.create("/stock/locks/_c_7d0a1b9e-5b5f-4f0e-8d7b-3a5f6f1d2c3b-lock-", 99, operation::made::sequential);
  EXPECT_TRUE(inspect().holders.empty());
  EXPECT_EQ(inspect().waiters.size(), 1U);
}

TEST_F(zookeeper_permits, are_looked_at_again_where_a_lease_went_between_two_reads) {
  for (const std::size_t each : {0, 1}) claim(each, 1);
  wire_.serve(session_);
  const std::string former = "/stock/leases/" + *wire_.all.at("/stock/leases").children.begin();
  outcome seen;
  begin_to_inspect(seen);
  wire_.serve_until(session_, former);
  wire_.create("/stock/leases/_c_7d0a1b9e-5b5f-4f0e-8d7b-3a5f6f1d2c3b-lease-", 99,
               operation::made::sequential);
  wire_.remove(former);
  wire_.serve(session_);
  EXPECT_EQ(state_in(seen).holders.size(), 2U) << "the lease that was given to another is listed";
}

}  // namespace
}  // namespace holdfast::zookeeper
