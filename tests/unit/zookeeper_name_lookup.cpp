// SPDX-License-Identifier: Apache-2.0
// Names of servers that the system has no thread to look up.

#include <chrono>
#include <gtest/gtest.h>
#include <string>

#include "holdfast/client.hpp"
#include "holdfast/error.hpp"
#include "holdfast/options.hpp"
#include "unit/no_threads.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

/// A label of a host name has at most 63 characters: the resolver refuses this one without asking a server.
const std::string no_host(64, 'x');

std::string problem_of(client& locks) {
  try {
    static_cast<void>(locks.inspect("stock"));
    return {};
  } catch (const error& failed) {
    return failed.what();
  }
}

// The link looks the name up again and again, on its own thread, where no caller would catch an exception.
TEST(zookeeper_name_lookup, that_has_no_thread_is_the_reason_why_requests_fail) {
  client locks{"zk://" + no_host, client_options{}.locks(lock_options{}.retry(retry_policy{}.limit(100ms)))};
  const test::no_threads none;
  const auto end = std::chrono::steady_clock::now() + 60s;
  std::string problem;
  while (problem.find("cannot create a thread") == std::string::npos &&
         std::chrono::steady_clock::now() < end) {
    problem = problem_of(locks);
  }
  EXPECT_NE(problem.find("cannot create a thread"), std::string::npos) << problem;
  EXPECT_NE(problem.find(no_host), std::string::npos) << problem;
}

}  // namespace
}  // namespace holdfast
