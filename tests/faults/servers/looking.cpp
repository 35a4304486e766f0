// SPDX-License-Identifier: Apache-2.0
// Who only looks at a database makes nothing in it.

#include <atomic>

#include "faults/servers/servers.hpp"

namespace holdfast::faults {
namespace {

class database_looking : public on_each_database {
 protected:
  std::int64_t parts() {
    return server_->number(
        "SELECT (SELECT count(*) FROM information_schema.tables WHERE table_name LIKE 'holdfast%') + "
        "(SELECT count(*) FROM information_schema.routines WHERE routine_name LIKE 'holdfast%')");
  }
};

// A mistyped URL would look like a store in which nothing is held, and be one from then on.
TEST_P(database_looking, makes_no_tables_and_sees_them_once_they_are_made) {
  client onlooker{url()};
  std::atomic<int> changes = 0;
  const auto watched = onlooker.watch([&] { ++changes; });
  EXPECT_TRUE(onlooker.list(true).empty());
  EXPECT_FALSE(onlooker.inspect("stock"));
  EXPECT_EQ(onlooker.force_release("stock"), 0U);
  EXPECT_EQ(parts(), 0);

  client locks{url()};
  auto held = mutex{locks, "stock"}.acquire();
  EXPECT_GT(parts(), 0);
  EXPECT_EQ(onlooker.list().size(), 1U);
  EXPECT_TRUE(onlooker.inspect("stock"));
  const int before = changes;
  EXPECT_FALSE(held.release());
  await([&] { return changes > before; }, "who watches does not hear of it");
}

TEST_P(database_looking, does_not_keep_one_from_claiming_later) {
  client locks{url()};
  EXPECT_TRUE(locks.list(true).empty());
  EXPECT_EQ(parts(), 0);
  mutex lock{locks, "stock"};
  ASSERT_TRUE(lock.try_lock()) << "a try, too, waits until the tables are made";
  lock.unlock();
  auto held = lock.acquire();
  EXPECT_EQ(renew(held), renewal::renewed);
  EXPECT_EQ(locks.list().size(), 1U);
  EXPECT_FALSE(held.release());
}

HOLDFAST_ON_EACH_SERVER(database_looking, database_kinds, any_kind<database>);

}  // namespace
}  // namespace holdfast::faults
