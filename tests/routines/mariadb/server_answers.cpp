// SPDX-License-Identifier: Apache-2.0
// What servers of other versions answer.

#include <gtest/gtest.h>

#include "stores/mariadb/protocol/schema.hpp"

namespace holdfast::test {
namespace {

using sql::mariadb::is_writable;

TEST(server_answers, of_a_writable_server_are_a_number_or_a_name) {
  EXPECT_TRUE(is_writable("0"));
  EXPECT_TRUE(is_writable("OFF")) << "from MariaDB 12.0 on";
  for (const char* said : {"1", "ON", "NO_LOCK", "NO_LOCK_NO_ADMIN", ""}) {
    EXPECT_FALSE(is_writable(said)) << said;
  }
}

}  // namespace
}  // namespace holdfast::test
