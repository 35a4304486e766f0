// SPDX-License-Identifier: Apache-2.0
// `run --at-least` where the locks of a store end with a session: the command keeps them itself.

#include <chrono>
#include <csignal>
#include <gmock/gmock.h>
#include <memory>
#include <string>

#include "fixture.hpp"
#include "support/zookeeper_server.hpp"
#include <holdfast/boot_clock.hpp>

namespace holdfast::test {
namespace {

using testing::HasSubstr;

class run_stays : public command_test {
 protected:
  /// Its renewals, the first after a third of the ttl, are what finds out that the hold has ended.
  std::unique_ptr<process> start_job(const std::string& least, const std::string& job) {
    return start(
        {"run", "job", "--ttl", "3s", "--at-least", least, "--store", server_.url(), "--", "sh", "-c", job});
  }
  result try_once() {
    return holdfast({"run", "job", "--wait", "0", "--store", server_.url(), "--", "true"});
  }
  bool has_ended(const std::string& path) {
    return eventually([&] { return contents(path) == "ended\n"; });
  }

  zookeeper_server server_;
};

TEST_F(run_stays, until_the_least_time_is_over_and_passes_on_the_status) {
  const auto began = boot_clock::now();
  const auto said = start_job("2s", "exit 37")->wait();
  EXPECT_GE(boot_clock::now(), began + std::chrono::seconds{2});
  EXPECT_EQ(said.status, 37) << said.err;
  EXPECT_EQ(said.err, "");
  EXPECT_EQ(try_once().status, 0);
}

TEST_F(run_stays, until_a_signal_requests_the_end_and_holds_the_lock_meanwhile) {
  const auto job = start_job("1h", "echo ended >" + file("end"));
  ASSERT_TRUE(has_ended(file("end")));
  EXPECT_EQ(try_once().status, 75);
  job->signal(SIGTERM);
  EXPECT_EQ(job->wait().status, 0) << "the job had ended";
  EXPECT_EQ(try_once().status, 0);
}

TEST_F(run_stays, until_somebody_ends_the_hold_and_says_so) {
  const auto job = start_job("1h", "echo ended >" + file("end"));
  ASSERT_TRUE(has_ended(file("end")));
  EXPECT_EQ(try_once().status, 75);
  EXPECT_EQ(holdfast({"release", "--force", "job", "--store", server_.url()}).status, 0);
  const auto said = job->wait();
  EXPECT_EQ(said.status, 0);
  EXPECT_THAT(said.err,
              HasSubstr("the lock 'job' was lost after 'sh' had ended, before --at-least was over"));
}

TEST_F(run_stays, and_refuses_a_grace) {
  const auto said =
      holdfast({"run", "job", "--grace", "1s", "--at-least", "1s", "--store", server_.url(), "--", "true"});
  EXPECT_EQ(said.status, 64) << said.err;
}

}  // namespace
}  // namespace holdfast::test
