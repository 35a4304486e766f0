// SPDX-License-Identifier: Apache-2.0
// `run --also` of a fleet that moves from Redis to ZooKeeper.

#include <csignal>
#include <filesystem>
#include <gmock/gmock.h>
#include <memory>
#include <string>

#include "fixture.hpp"
#include "support/redis_server.hpp"
#include "support/zookeeper_server.hpp"

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class run_also_on_servers : public command_test {
 protected:
  run_also_on_servers() { write_file(file("password"), "secret\n"); }

  /// Without its password.
  [[nodiscard]] std::string old() const {
    return "redis://127.0.0.1:" + std::to_string(old_.port()) + "?failover_guard=0";
  }
  /// With a password of the old store alone.
  [[nodiscard]] strings moving(const strings& options = {}) const {
    strings all{"--store",       new_.url(), "--also", old() + ":nightly", "--also-password-file",
                file("password")};
    all.insert(all.end(), options.begin(), options.end());
    return all;
  }
  /// The status of a job that does not wait.
  int try_once(const std::string& name, const strings& options) {
    strings line{"run", name, "--wait", "0", "-q"};
    line.insert(line.end(), options.begin(), options.end());
    line.insert(line.end(), {"--", "true"});
    return holdfast(line).status;
  }
  int try_old() { return try_once("nightly", {"--store", old(), "--password-file", file("password")}); }
  int try_new() { return try_once("job", {"--store", new_.url()}); }

  redis_server old_{{.password = "secret"}};
  zookeeper_server new_;
};

TEST_F(run_also_on_servers, excludes_jobs_of_both_and_ends_with_the_loss_of_either) {
  for (const bool is_old : {true, false}) {
    auto holder = start_holder("job", moving({"--ttl", "6s"}));
    EXPECT_EQ(try_old(), 75);
    EXPECT_EQ(try_new(), 75);
    const strings place = is_old ? strings{"nightly", "--store", old(), "--password-file", file("password")}
                                 : strings{"job", "--store", new_.url()};
    strings line{"release", "--force"};
    line.insert(line.end(), place.begin(), place.end());
    EXPECT_EQ(holdfast(line).status, 0);
    const auto ended = holder->wait();
    EXPECT_EQ(ended.status, 76);
    EXPECT_THAT(
        ended.err,
        AllOf(HasSubstr(is_old ? "the lock 'nightly' of " + old() : "the lock 'job' of " + new_.url()),
              HasSubstr("was lost while 'sh' ran; 'sh' was ended."), Not(HasSubstr("secret"))));
    EXPECT_EQ(try_old(), 0);
    EXPECT_EQ(try_new(), 0);
  }
}

TEST_F(run_also_on_servers, ends_the_command_when_the_old_server_falls_silent) {
  auto holder = start_holder("job", moving({"--ttl", "3s"}));
  old_.stop();
  const auto ended = holder->wait();
  old_.go_on();
  EXPECT_EQ(ended.status, 76);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("the lock 'nightly' of " + old()),
                               HasSubstr("The store did not confirm a renewal in time")));
  EXPECT_EQ(try_new(), 0) << "it was not released";
}

TEST_F(run_also_on_servers, ends_the_command_when_the_new_server_falls_silent) {
  auto holder = start_holder("job", moving({"--ttl", "3s"}));
  new_.stop();
  const auto ended = holder->wait();
  EXPECT_EQ(ended.status, 76);
  EXPECT_THAT(ended.err, HasSubstr("the lock 'job' of " + new_.url()));
  EXPECT_EQ(try_old(), 0) << "it was not released";
  new_.go_on();
}

TEST_F(run_also_on_servers, lets_go_of_the_old_lock_where_the_new_store_is_not_there) {
  strings line{"run", "job"};
  const auto options = moving({"--", "true"});
  line.insert(line.end(), options.begin(), options.end());
  line[3] = "redis://127.0.0.1:1";
  const auto said = holdfast(line);
  EXPECT_EQ(said.status, 69);
  EXPECT_THAT(said.err, HasSubstr("redis://127.0.0.1:1"));
  EXPECT_EQ(try_old(), 0);
}

TEST_F(run_also_on_servers, tells_of_a_release_without_an_answer_and_of_a_loss_before_a_release) {
  for (const bool is_lost : {false, true}) {
    auto holder = start_holder("job", moving(), "until [ -e $D/go ]; do sleep 0.01; done; exit 7");
    new_.stop();
    write_file(file("go"), "");
    ASSERT_TRUE(eventually([&] { return !state_of(holder_pid()); }));  // reaped: the release of `job` is next
    if (is_lost) {
      EXPECT_EQ(
          holdfast({"release", "--force", "nightly", "--store", old(), "--password-file", file("password")})
              .status,
          0);
      new_.go_on();
    }
    const auto ended = holder->wait();
    new_.go_on();
    std::filesystem::remove(file("go"));
    EXPECT_EQ(ended.status, is_lost ? 76 : 7);
    EXPECT_THAT(ended.err,
                HasSubstr(is_lost ? " was lost before its release; 'sh' had ended by itself with status 7. "
                                  : "the release of the lock 'job' of " + new_.url() +
                                        " or the lock 'nightly' of " + old() + " could not be confirmed"));
    ASSERT_TRUE(eventually([&] { return try_new() == 0; }));
  }
}

TEST_F(run_also_on_servers, refuses_the_lock_that_it_takes_anyway_by_another_url) {
  const auto also = "redis://localhost:" + std::to_string(old_.port()) + "?failover_guard=0";
  const auto said = holdfast({"run", "job", "--store", old(), "--password-file", file("password"), "--also",
                              also + ":job", "--also-password-file", file("password"), "--", "true"});
  EXPECT_EQ(said.status, 64);
  EXPECT_THAT(said.err, HasSubstr("--also: 'job' of " + also + " is taken anyway"));
}

/// The password of --store is of no use to another store, and none of its business.
TEST_F(run_also_on_servers, gives_the_old_store_no_password_of_the_new) {
  const strings line{"run", "job", "--also", old() + ":nightly", "--", "true"};
  const auto said = holdfast(line, {.environment = {"HOLDFAST_PASSWORD=secret"}});
  EXPECT_EQ(said.status, 77) << said.err;
  EXPECT_THAT(said.err, AllOf(HasSubstr(old()), Not(HasSubstr("the default store"))));
  auto with_mask = line;
  with_mask[3] = "redis://default:***@127.0.0.1:" + std::to_string(old_.port()) + "?failover_guard=0:nightly";
  with_mask.insert(with_mask.begin() + 4, {"--also-password-file", file("password")});
  EXPECT_EQ(holdfast(with_mask).status, 0);
}

}  // namespace
}  // namespace holdfast::test
