// SPDX-License-Identifier: Apache-2.0
// What the command says of a lock that another library has set: a plain key of Redis, without an expiry.

#include <gmock/gmock.h>

#include "fixture.hpp"
#include "support/redis_server.hpp"

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

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

TEST_F(foreign_locks, are_shown_without_invented_figures) {
  EXPECT_THAT(ask({"show", "x"}).out,
              AllOf(HasSubstr("a client of another library (theirs)"), HasSubstr("does not expire"),
                    Not(HasSubstr("0ms")), Not(HasSubstr("pid 0"))));
  const json holder = parse_lines(ask({"show", "x", "--json"}).out).at(0)["holders"].at(0);
  EXPECT_EQ(holder["owner"], "theirs");
  for (const auto* unknown : {"age_s", "expires_in_s", "token", "pid"}) {
    EXPECT_TRUE(holder.contains(unknown) && holder[unknown].is_null()) << unknown << ": " << holder;
  }
}

TEST_F(foreign_locks, have_the_expiry_that_their_library_has_set) {
  server_.ask({"SET", "holdfast:y", "theirs", "PX", "3600000"});
  EXPECT_THAT(ask({"show", "y"}).out, AllOf(HasSubstr("  59m"), Not(HasSubstr("does not expire"))));
  EXPECT_GT(parse_lines(ask({"show", "y", "--json"}).out).at(0)["holders"].at(0)["expires_in_s"], 3500);
}

TEST_F(foreign_locks, are_listed_without_invented_figures) {
  EXPECT_THAT(ask({"ls"}).out, AllOf(HasSubstr("a client of another library"), Not(HasSubstr("0ms")),
                                     Not(HasSubstr("pid 0"))));
  const json line = parse_lines(ask({"ls", "--json"}).out).at(0);
  EXPECT_TRUE(line["held_for_s"].is_null()) << line;
  EXPECT_TRUE(line["holder_token"].is_null()) << line;
  EXPECT_TRUE(line["holder"]["pid"].is_null()) << line;
}

TEST_F(foreign_locks, are_explained_without_invented_figures) {
  EXPECT_THAT(ask({"why", "x"}).out,
              AllOf(HasSubstr("held by a client of another library (theirs); it does not expire"),
                    Not(HasSubstr("0ms")), Not(HasSubstr("which waits for no lock"))));
}

}  // namespace
}  // namespace holdfast::test
