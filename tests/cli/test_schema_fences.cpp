// SPDX-License-Identifier: Apache-2.0
// `holdfast schema --fences` for stores without a database server.

#include <gmock/gmock.h>

#include "fixture.hpp"

namespace holdfast::test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

class schema_fences : public command_test {};

TEST_F(schema_fences, are_made_in_an_sqlite_file_that_exists) {
  const strings line{"schema", store(), "--fences", "--apply"};
  const auto early = holdfast(line);
  EXPECT_NE(early.status, 0);
  EXPECT_THAT(early.err, HasSubstr("cannot make the fences of " + store() +
                                   ": the file does not exist; --fences needs the data's own file"));
  EXPECT_EQ(holdfast({"run", "x", "--", "true"}).status, 0);
  EXPECT_EQ(holdfast(line).out, store() + ": made the fences\n");
  EXPECT_EQ(holdfast(line).out, store() + ": the fences exist already\n");
  const auto printed = holdfast({"schema", "--fences"});
  EXPECT_THAT(printed.out, HasSubstr("CREATE TRIGGER \"holdfast_fence_insert\" BEFORE INSERT"));
  EXPECT_THAT(printed.out, EndsWith("COMMIT;\n"));
}

TEST_F(schema_fences, of_redis_are_printed_without_a_server) {
  for (const char* url :
       {"redis://localhost:1", "redis+sentinel://localhost:1/mymaster", "redis+cluster://localhost:1"}) {
    const auto printed = holdfast({"schema", url, "--fences"});
    EXPECT_EQ(printed.status, 0) << printed.err;
    EXPECT_THAT(printed.out, testing::StartsWith("#!lua name=holdfast\n-- Holdfast"));
  }
}

}  // namespace
}  // namespace holdfast::test
