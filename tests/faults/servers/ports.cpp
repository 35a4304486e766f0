// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <set>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "support/reserved_port.hpp"

namespace holdfast::faults {
namespace {

// So many that draws which knew nothing of each other would meet.
TEST(server_ports, are_never_drawn_twice_whoever_draws) {
  const std::vector<test::reserved_port> ours(300);
  std::set<std::uint16_t> numbers;
  for (const auto& each : ours) numbers.insert(each.number());
  ASSERT_EQ(numbers.size(), ours.size());

  const ::pid_t other = ::fork();
  if (other == 0) {
    const std::vector<test::reserved_port> theirs(300);
    int common = 0;
    for (const auto& each : theirs) common += numbers.contains(each.number()) ? 1 : 0;
    ::_exit(common == 0 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(other, &status, 0), other);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace holdfast::faults
