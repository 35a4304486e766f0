// SPDX-License-Identifier: Apache-2.0
// Many turns, and nothing that grows with them.

#include "faults/endurance.hpp"

#include "faults/sqlite/on_a_file.hpp"

namespace holdfast::faults {
namespace {

class endurance : public on_a_file {
 protected:
  /// The rows of all tables become what they were, once the last unlock, which nobody waited for, is done.
  void expect_rows(const std::vector<std::string>& wanted) const {
    comes_true([&] { return rows() == wanted; });
    EXPECT_EQ(rows(), wanted);
  }
  std::vector<std::string> rows() const {
    other_connection look{file_};
    std::vector<std::string> result;
    for (int table = 0;; ++table) {
      const auto name =
          look.value("select name from sqlite_master where type = 'table' order by name limit 1 offset " +
                     std::to_string(table));
      if (name.empty()) return result;
      result.push_back(name + ": " + look.value("select count(*) from \"" + name + '"'));
    }
  }
};

TEST_F(endurance, ten_thousand_turns_leave_nothing_behind) {
  const auto other = start();
  ASSERT_EQ(other->ask("cycle stock " + std::to_string(test::amount(200, 1'000)), 150s), "cycled");
  const auto before = usage_of(*other);
  await([&] { return other->ask("inspect stock") == "holders 0 waiters 0"; }, "it is not released");
  const auto rows_before = rows();
  const auto size_before = std::filesystem::file_size(file_);
  ASSERT_EQ(other->ask("cycle stock " + std::to_string(test::amount(1'000, 10'000)), 150s), "cycled");
  expect_no_growth(before, usage_of(*other));
  expect_rows(rows_before);
  EXPECT_LE(std::filesystem::file_size(file_), size_before + 65'536);
  EXPECT_LE(std::filesystem::file_size(file_ + "-wal"), 16U << 20U) << "the log is not taken up";
}

TEST_F(endurance, a_thousand_clients_leave_nothing_behind) {
  actor other;
  ASSERT_EQ(other.ask("clients " + url() + " 50"), "cycled");
  const auto before = usage_of(other);
  const auto rows_before = rows();
  ASSERT_EQ(other.ask("clients " + url() + ' ' + std::to_string(test::amount(60, 1'000)), 150s), "cycled");
  expect_no_growth(before, usage_of(other));
  expect_rows(rows_before);
}

TEST_F(endurance, a_thousand_waits_that_end_in_vain_leave_nothing_behind) {
  client locks = open();
  const auto held = mutex{locks, "stock"}.acquire();
  const auto other = start();
  ASSERT_EQ(other->ask("cycle stock 50 within=1"), "cycled");
  const auto before = usage_of(*other);
  ASSERT_EQ(other->ask("cycle stock " + std::to_string(test::amount(200, 1'000)) + " within=1", 150s),
            "cycled");
  expect_no_growth(before, usage_of(*other));
  EXPECT_EQ(other->ask("close"), "closed");  // withdrawals are under way until then
  EXPECT_TRUE(locks.inspect("stock")->waiters.empty());
  EXPECT_TRUE(held.held());
}

}  // namespace
}  // namespace holdfast::faults
