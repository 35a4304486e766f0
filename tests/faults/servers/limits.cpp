// SPDX-License-Identifier: Apache-2.0
// A database that takes no more connections, or takes only reading.

#include <deque>

#include "faults/servers/servers.hpp"

namespace holdfast::faults {
namespace {

using testing::HasSubstr;

class database_connections : public on_each_database {
 protected:
  database_connections() : on_each{{.few_connections = true}} {}
};

TEST_P(database_connections, that_are_all_taken_are_told_and_room_is_used) {
  client first{url()};
  auto held = mutex{first, "stock"}.acquire();
  std::deque<client> others;
  failing refused;
  for (int each = 0; each < 20 && !refused.code; ++each) {
    others.emplace_back(url());
    refused = failure_of([&] { mutex{others.back(), "of others", hasty()}.lock(); });
  }
  others.pop_back();
  EXPECT_EQ(refused.code, errc::exhausted) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("connections"));
  EXPECT_EQ(held.renew(), renewal::renewed) << "who is connected is not touched by it";

  client late{url()};
  auto waiting = std::async(std::launch::async, [&] { return mutex{late, "other", patient()}.acquire(); });
  EXPECT_EQ(waiting.wait_for(100ms), std::future_status::timeout);
  others.clear();
  EXPECT_TRUE(waiting.get().held());
}

HOLDFAST_ON_EACH_SERVER(database_connections, database_kinds, any_kind<database>);

class database_read_only : public on_each_database {};

TEST_P(database_read_only, by_its_settings_is_told_so_and_serves_when_they_change) {
  client locks{url()};
  auto held = mutex{locks, "stock"}.acquire();
  server_->set_read_only(true);
  const auto refusal_of = [](client& by) {
    return known_failure_of([&] { mutex{by, "other", hasty()}.lock(); });
  };
  // Sessions hear of the setting one after another.
  await([&] { return refusal_of(locks).text.find("read-only") != std::string::npos; }, "it is not told");
  client newcomer{url()};
  for (client* each : {&locks, &newcomer}) {
    const auto failed = refusal_of(*each);
    EXPECT_EQ(failed.code, errc::unavailable) << failed.text;
    EXPECT_THAT(failed.text, HasSubstr("read-only"));
  }
  EXPECT_TRUE(held.held());
  server_->set_read_only(false);
  EXPECT_TRUE(mutex(locks, "other", patient()).try_lock_for(60s));
  EXPECT_EQ(renew(held), renewal::renewed);
}

HOLDFAST_ON_EACH_SERVER(database_read_only, database_kinds, any_kind<database>);

}  // namespace
}  // namespace holdfast::faults
