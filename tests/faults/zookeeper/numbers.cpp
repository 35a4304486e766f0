// SPDX-License-Identifier: Apache-2.0
// The numbers that a parent gives to its children, at the end of their range.

#include "faults/zookeeper/on_zookeeper.hpp"
#include "support/witness.hpp"

namespace holdfast::faults {
namespace {

class zookeeper_numbers : public on_zookeeper {
 protected:
  zookeeper_numbers()
      : on_zookeeper{{.container_check = 5min, .options = {"-Dzookeeper.digest.enabled=false"}}} {}

  void set_next_number(std::int32_t number, const std::string& node = "/stock") {
    console_.create(node);
    server_.kill();
    server_.start();
    server_.kill();
    server_.set_next_number(node, number);
    server_.start();
  }
};

TEST_F(zookeeper_numbers, that_come_to_their_end_let_no_two_in) {
  set_next_number(2'147'483'600);
  const test::scratch_folder folder;
  const test::witness witness{folder.file("witness")};
  constexpr int turns = 50;
  std::vector<std::unique_ptr<actor>> clients;
  for (int each = 0; each < 3; ++each) clients.push_back(start(server_.url("?session_timeout=20s")));
  for (const auto& each : clients) {
    each->tell("contend stock " + folder.file("witness") + ' ' + std::to_string(turns));
  }
  for (const auto& each : clients) EXPECT_EQ(hear_answer(*each), "contended");
  EXPECT_EQ(witness.overlaps(), 0);
  EXPECT_EQ(witness.fragile_count(), turns * 3);
}

// The server gives such numbers while the child before is still being written, and 2147483647 afterwards.
TEST_F(zookeeper_numbers, beyond_their_end_tell_nobody_who_came_first) {
  set_next_number(2'147'483'647);
  zookeeper_console others{server_.port()};
  client locks{server_.url("?session_timeout=20s")};
  const auto beyond = "/stock/_c_00000000-0000-0000-0000-000000000000-lock--2147483648";
  others.create(beyond);
  EXPECT_FALSE(mutex(locks, "stock").try_lock());
  const auto failed = failure_of([&] { mutex{locks, "stock", hasty()}.lock(); });
  EXPECT_EQ(failed.code, errc::unavailable) << failed.text;
  others.remove(beyond);
  EXPECT_TRUE(mutex(locks, "stock").try_lock_for(60s));
}

TEST_F(zookeeper_numbers, that_have_come_to_their_end_begin_anew_when_nobody_is_there) {
  set_next_number(2'147'483'647);
  const std::string url = server_.url("?session_timeout=20s");
  client locks{url};
  client others{url};
  auto held = mutex{locks, "stock"}.acquire();
  zookeeper_console looking{server_.port()};
  EXPECT_THAT(looking.children("/stock"), testing::ElementsAre(testing::EndsWith("-lock-2147483647")));
  EXPECT_FALSE(mutex(others, "stock").try_lock());
  const auto failed = failure_of([&] { mutex{others, "stock", hasty()}.lock(); });
  EXPECT_EQ(failed.code, errc::unavailable) << failed.text;
  EXPECT_THAT(failed.text, testing::HasSubstr("/stock"));
  auto next = std::async(std::launch::async, [&] { return mutex{others, "stock"}.acquire(); });
  EXPECT_EQ(held.renew(), renewal::renewed);
  const auto held_token = held.token();
  EXPECT_FALSE(held.release());
  EXPECT_GT(next.get().token(), held_token);
  // Two that meet have it begin anew, sooner or later.
  const auto begun_anew = [&] {
    const auto all = looking.children("/stock");
    return !all.empty() && !all.back().ends_with("2147483647");
  };
  while (!begun_anew()) {
    auto one = std::async(std::launch::async, [&] { return mutex{locks, "stock"}.try_acquire(); });
    auto two = std::async(std::launch::async, [&] { return mutex{others, "stock"}.try_acquire(); });
    const auto first = one.get();
    const auto second = two.get();
    EXPECT_FALSE(first && second);
    if (begun_anew()) break;
  }
}

// Leases of one claim differ by their numbers alone.
TEST_F(zookeeper_numbers, of_leases_that_have_come_to_their_end_begin_anew_when_nobody_has_any) {
  console_.create("/stock");
  set_next_number(2'147'483'647, "/stock/leases");
  client locks{server_.url("?session_timeout=20s")};
  counting_semaphore slots{locks, "stock", 10};
  zookeeper_console looking{server_.port()};
  const auto begun_anew = [&] {
    const auto all = looking.children("/stock/leases");
    return !all.empty() && all.front().ends_with("-lease-0000000000");
  };
  // The server may still be writing the first when the second comes, which then has another number.
  for (bool anew = false; !anew;) {
    auto held = slots.acquire_permits(8);
    anew = begun_anew();
    EXPECT_FALSE(held.release());
  }
}

}  // namespace
}  // namespace holdfast::faults
