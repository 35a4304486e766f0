// SPDX-License-Identifier: Apache-2.0
// A role that may only lock calls the routines by hand, with arguments that no client sends.

#include "faults/postgresql/on_postgresql.hpp"

namespace holdfast::faults {
namespace {

using testing::StartsWith;

class postgresql_numbers : public on_postgresql {};

// The server sends no notification to an id of another length: whoever served the queue would fail.
TEST_F(postgresql_numbers, of_bytes_of_an_id_keep_no_holder_from_releasing) {
  EXPECT_EQ(server_.ask("CREATE ROLE worker LOGIN"), "");
  EXPECT_TRUE(apply_schema(server_.url("?grant_lock=worker")));
  const auto worker = server_.console("worker");
  client locks{server_.url()};
  auto held = mutex{locks, "stock"}.acquire();
  const auto expect_refusal = [&](const std::string& call) {
    EXPECT_THAT(worker->ask("SELECT holdfast_locks_" + call), StartsWith("-22023")) << call.substr(0, 500);
  };
  const auto bytes = [](const std::string& count) { return "decode(repeat('03', " + count + "), 'hex')"; };
  const auto id = bytes("16");
  const std::string rest = ", 1, 1, 600000000, '{}', true)";
  for (const std::string& wrong :
       {bytes("5000"), bytes("17"), bytes("15"), bytes("0"), std::string{"NULL"}}) {
    expect_refusal("acquire('stock', " + wrong + ", " + id + rest);
    expect_refusal("acquire('stock', " + id + ", " + wrong + rest);
  }
  const std::string too_long = "repeat('m', 16777216)";
  expect_refusal("acquire('stock', " + id + ", " + id + ", 1, 1, 1, " + too_long + ", true)");
  expect_refusal("annotate('stock', " + id + ", 1, " + too_long + ')');
  expect_refusal("acquire(repeat('n', 513), " + id + ", " + id + rest);
  EXPECT_FALSE(held.release());
}

}  // namespace
}  // namespace holdfast::faults
