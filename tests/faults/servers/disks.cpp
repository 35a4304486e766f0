// SPDX-License-Identifier: Apache-2.0
// A database whose tables are on a disk that is full.

#include "faults/servers/servers.hpp"
#include "support/small_disk.hpp"

namespace holdfast::faults {
namespace {

using testing::HasSubstr;

class database_disk : public on_each_database {
 protected:
  database_disk() : on_each{{.small_disk = !test::no_small_disk()}} {}
};

TEST_P(database_disk, that_is_full_is_told_and_ends_with_it) {
  if (const auto obstacle = test::no_small_disk()) GTEST_SKIP() << *obstacle;
  client locks{url()};
  auto held = mutex{locks, "stock"}.acquire();
  server_->fill_disk();

  // Room that the tables already have is used up first.
  failing failed;
  for (int turn = 0; turn < 10'000 && !failed.code; ++turn) {
    failed =
        known_failure_of([&] { mutex{locks, std::string(500, 'n') + std::to_string(turn), hasty()}.lock(); });
  }
  EXPECT_EQ(failed.code, errc::exhausted) << failed.text;
  EXPECT_THAT(failed.text, HasSubstr("free disk space"));
  EXPECT_TRUE(held.held()) << "a full disk alone ends no lease before its deadline";

  server_->clear_disk();
  EXPECT_TRUE(mutex(locks, "another", patient()).try_lock_for(60s));
  EXPECT_EQ(held.renew(), renewal::renewed);
  EXPECT_FALSE(held.release());
}

HOLDFAST_ON_EACH_SERVER(database_disk, database_kinds, any_kind<database>);

}  // namespace
}  // namespace holdfast::faults
