// Claims of permits: their places in the line, and their leases.

#include <gtest/gtest.h>
#include <string>
#include <variant>

#include "core/zookeeper_rests.hpp"

namespace holdfast::zookeeper {
namespace {

class zookeeper_permits : public zookeeper_rests {
 protected:
  zookeeper_permits() { want_permits(2, 3); }
};

// An operator has removed its place in the line, so that somebody else has its turn, too.
TEST_F(zookeeper_permits, keep_no_lease_that_was_made_before_its_parent_seemed_to_be_there) {
  claim(0, 0s, false);
  while (wire_.next() != operation_kind::create || !wire_.all.contains("/stock/locks") ||
         wire_.all.at("/stock/locks").children.empty())
    wire_.serve_next(session_);
  wire_.serve_next(session_);
  ASSERT_FALSE(wire_.all.contains("/stock/leases"));
  wire_.create("/stock/leases", 0, operation::made::container);
  wire_.serve(session_);
  ASSERT_TRUE(is_granted(0));
  EXPECT_EQ(leases(), 2U);
}

TEST_F(zookeeper_permits, show_no_place_in_the_line_as_a_holder) {
  wire_.create("/stock/locks", 0, operation::made::container);
  wire_.create("/stock/locks/_c_7d0a1b9e-5b5f-4f0e-8d7b-3a5f6f1d2c3b-lock-", 99, operation::made::sequential);
  EXPECT_TRUE(inspect().holders.empty());
  EXPECT_EQ(inspect().waiters.size(), 1U);
}

TEST_F(zookeeper_permits, are_looked_at_again_where_a_lease_went_between_two_reads) {
  want_permits(1, 3);
  for (const std::size_t each : {0, 1}) claim_served(each, 0s, false);
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
