// SPDX-License-Identifier: Apache-2.0
// The password of a store in a file, which somebody replaces.

#include <filesystem>
#include <gmock/gmock.h>

#include "fixture.hpp"
#include "support/redis_server.hpp"

namespace holdfast::test {
namespace {

using testing::IsEmpty;

class password_file : public command_test {
 protected:
  /// At the server, which ends the user's connections.
  void give(const std::string& password) {
    server_.ask({"ACL", "SETUSER", "rotating", "on", "resetpass", ">" + password, "allkeys", "allchannels",
                 "allcommands"});
    server_.ask({"CLIENT", "KILL", "USER", "rotating"});
  }
  [[nodiscard]] std::string url() const {
    return "redis://rotating@127.0.0.1:" + std::to_string(server_.port()) + "?failover_guard=0";
  }

  redis_server server_;
};

TEST_F(password_file, is_read_at_each_login) {
  give("first");
  write_file(file("password"), "first\n");
  auto wrapper = start_holder("x", {"--ttl", "5m", "--store", url(), "--password-file", file("password")},
                              "until [ -e $D/go ]; do sleep 0.01; done");
  write_file(file("replacement"), "second\n");
  std::filesystem::rename(file("replacement"), file("password"));
  give("second");
  write_file(file("go"), "");
  const auto ended = wrapper->wait();
  EXPECT_EQ(ended.status, 0);
  EXPECT_THAT(ended.err, IsEmpty()) << "it could not log in to release the lock";
}

TEST_F(password_file, that_is_a_pipe_is_read_once) {
  give("first");
  process reads{
      scratch_,
      {"sh", "-c", "echo first | " HOLDFAST_COMMAND " show x --password-file /dev/stdin --store " + url()},
      {}};
  const auto shown = reads.wait();
  EXPECT_EQ(shown.status, 0) << shown.err;
}

}  // namespace
}  // namespace holdfast::test
