// SPDX-License-Identifier: Apache-2.0
// What the users of a client have started: each ends once, whoever ends it.

#include "lease/operations.hpp"

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "holdfast/error.hpp"

namespace holdfast {
namespace {

/// Writes down how it ends, and ends another one with it.
class recorded final : public lease_core::operation {
 public:
  recorded(std::vector<std::string>& ends, lease_core::operations& all, lease_core::op_id part = 0)
      : ends_{ends}, all_{all}, part_{part} {}
  void cancel(failure reason) override {
    ends_.push_back(reason.message);
    all_.cancel(part_, {errc::cancelled, "with " + reason.message});
  }

 private:
  std::vector<std::string>& ends_;
  lease_core::operations& all_;
  lease_core::op_id part_;
};

TEST(operations, are_cancelled_once) {
  lease_core::operations all;
  std::vector<std::string> ends;
  const auto id = all.next_id();
  all.add(id, std::make_shared<recorded>(ends, all));
  all.cancel(id + 1, {errc::cancelled, "another"});
  all.cancel(id, {errc::cancelled, "first"});
  all.cancel(id, {errc::cancelled, "second"});
  all.close({errc::closed, "closed"});
  EXPECT_EQ(ends, std::vector<std::string>{"first"});
}

TEST(operations, are_not_cancelled_when_they_have_ended) {
  lease_core::operations all;
  std::vector<std::string> ends;
  const auto id = all.next_id();
  all.add(id, std::make_shared<recorded>(ends, all));
  all.remove(id);
  all.cancel(id, {errc::cancelled, "late"});
  EXPECT_TRUE(ends.empty());
}

TEST(operations, are_closed_before_those_that_they_consist_of) {
  lease_core::operations all;
  std::vector<std::string> ends;
  const auto whole = all.next_id();
  const auto part = all.next_id();
  all.add(part, std::make_shared<recorded>(ends, all));
  all.add(whole, std::make_shared<recorded>(ends, all, part));
  all.close({errc::closed, "closed"});
  EXPECT_EQ(ends, (std::vector<std::string>{"closed", "with closed"}));
}

}  // namespace
}  // namespace holdfast
