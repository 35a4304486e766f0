// What the command says of a lock that another library has set: a plain key of Redis, without an expiry.

#include <gmock/gmock.h>

#include "fixture.hpp"
#include "support/redis_server.hpp"

namespace holdfast::test {
namespace {

class foreign_locks : public command_test {
 protected:
  foreign_locks() { server_.ask({"SET", "holdfast:x", "theirs"}); }
  result ask(strings arguments) {
    arguments.insert(arguments.end(), {"--store", server_.url()});
    return holdfast(arguments);
  }

  redis_server server_;
};

TEST_F(foreign_locks, are_no_leaders) {
  const auto text = ask({"leader", "x"});
  EXPECT_EQ(text.status, 1) << text.out;
  EXPECT_EQ(text.out, "");
  EXPECT_EQ(parse_lines(ask({"leader", "x", "--json"}).out).at(0)["leader"], false);
}

}  // namespace
}  // namespace holdfast::test
