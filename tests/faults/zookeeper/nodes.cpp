// SPDX-License-Identifier: Apache-2.0
// What others have put where locks are.

#include "faults/zookeeper/on_zookeeper.hpp"
#include "support/fault_proxy.hpp"

namespace holdfast::faults {
namespace {

using testing::HasSubstr;

const std::string guid = "_c_01234567-89ab-cdef-0123-456789abcdef";

class zookeeper_nodes : public on_zookeeper {
 protected:
  using kind = zookeeper_console::kind;

  client locks_{server_.url("?session_timeout=40s")};
};

TEST_F(zookeeper_nodes, that_can_have_no_children_are_reported_and_left_alone) {
  console_.create("/stock", "theirs", kind::ephemeral);
  for (const auto* name : {"stock", "stock/sku-42", "stock/a/b/c"}) {
    const auto failed = failure_of([&] { mutex{locks_, name, hasty()}.lock(); });
    EXPECT_EQ(failed.code, errc::wrong_type) << failed.text;
    EXPECT_THAT(failed.text, HasSubstr("/stock"));
  }
  const auto failed = failure_of([&] { counting_semaphore{locks_, "stock", 3}.acquire(); });
  EXPECT_EQ(failed.code, errc::wrong_type) << failed.text;
  EXPECT_EQ(console_.get("/stock").data, "theirs");
}

TEST_F(zookeeper_nodes, with_data_may_be_locks_and_keep_it) {
  console_.create("/stock", "theirs");
  console_.create("/stock/sku-42", std::string{"\0\xff holdfast 1 ", 14});
  for (const auto* name : {"stock", "stock/sku-42"}) {
    auto held = mutex{locks_, name}.acquire();
    EXPECT_EQ(locks_.inspect(name).value().holders.size(), 1U);
    EXPECT_FALSE(held.release());
  }
  EXPECT_EQ(console_.get("/stock").data, "theirs");
  EXPECT_EQ(console_.get("/stock/sku-42").data.size(), 14U);
}

TEST_F(zookeeper_nodes, among_the_contenders_that_are_none_are_passed_over) {
  const std::vector<std::string> foreign{
      "config", guid + "-lock-", guid + "-lock-000000000x", "_c_nonsense-lock-0000000000",
      "lock",   "0000000000",    "lock-99999999999999",     "-lock-0000000000"};
  console_.create("/stock");
  for (const auto& each : foreign) console_.create("/stock/" + each, "theirs");
  mutex lock{locks_, "stock"};
  auto held = lock.try_acquire();
  ASSERT_TRUE(held);
  EXPECT_FALSE(mutex(locks_, "stock").try_lock());
  client others{server_.url("?session_timeout=40s")};
  auto next = std::async(std::launch::async, [&] { return mutex{others, "stock"}.acquire(); });
  expect_contenders(foreign.size() + 2);
  EXPECT_EQ(locks_.inspect("stock").value().waiters.size(), 1U);
  EXPECT_FALSE(held->release());
  auto granted = next.get();
  EXPECT_EQ(locks_.force_release("stock"), 1U);
  EXPECT_THAT(expect_contenders(foreign.size()), testing::UnorderedElementsAreArray(foreign));
}

TEST_F(zookeeper_nodes, of_contenders_with_a_megabyte_of_data_are_waited_for) {
  constexpr std::size_t megabyte = 1'000'000;
  console_.create("/stock");
  std::vector<std::string> big;
  for (int times = 0; times < 3; ++times) {
    big.push_back(console_.create("/stock/" + guid + "-lock-", std::string(megabyte, 'x'), kind::sequential));
  }
  EXPECT_FALSE(mutex(locks_, "stock").try_lock());
  std::vector<std::future<lease>> waiters;
  for (int times = 0; times < 4; ++times) {
    waiters.push_back(
        std::async(std::launch::async, [&] { return shared_mutex{locks_, "stock"}.acquire_shared(); }));
  }
  expect_contenders(7);
  const auto state = locks_.inspect("stock").value();
  EXPECT_EQ(state.holders.size(), 1U);
  EXPECT_EQ(state.waiters.size(), 6U);
  for (const auto& each : big) console_.remove(each);
  for (auto& each : waiters) EXPECT_TRUE(each.get().held());
}

TEST_F(zookeeper_nodes, of_another_layout_are_reported) {
  console_.create("/stock");
  console_.create("/stock/0123456789abcdef0123456789abcdef__lock__", {}, kind::sequential);
  const auto failed = failure_of([&] { mutex{locks_, "stock", hasty()}.lock(); });
  EXPECT_EQ(failed.code, errc::wrong_type) << failed.text;
  EXPECT_THAT(failed.text, HasSubstr("another layout"));
  EXPECT_THAT(failed.text, HasSubstr("__lock__"));
  EXPECT_EQ(failure_of([&] { (void)mutex(locks_, "stock").try_lock(); }).code, errc::wrong_type);
  expect_contenders(1);  // nothing of ours

  client kazoo{server_.url("?layout=kazoo&session_timeout=40s")};
  EXPECT_FALSE(mutex(kazoo, "stock").try_lock());
  auto ours = mutex{locks_, "other"}.acquire();
  const auto likewise = failure_of([&] { mutex{kazoo, "other", hasty()}.lock(); });
  EXPECT_EQ(likewise.code, errc::wrong_type) << likewise.text;
  EXPECT_EQ(console_.children("/other").size(), 1U);
  EXPECT_EQ(ours.renew(), renewal::renewed);
}

TEST_F(zookeeper_nodes, that_are_deleted_under_the_lock_are_made_anew) {
  mutex lock{locks_, "deep/down/stock"};
  for (int times = 0; times < 3; ++times) {
    EXPECT_FALSE(lock.acquire().release());
    // As the sweeper of containers would, which may be quicker.
    for (const auto* path : {"/deep/down/stock", "/deep/down", "/deep"}) {
      try {
        console_.remove(path);
      } catch (const zookeeper_console::refusal& gone) {
        EXPECT_EQ(gone.code, -101) << gone.what();
      }
    }
  }
}

TEST_F(zookeeper_nodes, of_hundreds_of_waiters_are_not_read_to_see_who_holds) {
  constexpr int count = 300;
  console_.create("/stock");
  for (int i = 0; i < count; ++i) console_.create("/stock/" + guid + "-lock-", "theirs", kind::sequential);
  const auto before = server_.monitored("zk_packets_received");
  EXPECT_EQ(locks_.inspect("stock", 0).value().holders.size(), 1U);
  const auto between = server_.monitored("zk_packets_received");
  EXPECT_LT(between - before, 50);
  EXPECT_EQ(locks_.inspect("stock").value().waiters.size(), count - 1U);
  EXPECT_GE(server_.monitored("zk_packets_received") - between, count);
}

// As Curator's Revoker does, to ask the holder to release.
TEST_F(zookeeper_nodes, that_others_have_written_into_stay_ours) {
  client locks{server_.url("?session_timeout=20s")};
  client others{server_.url("?session_timeout=20s")};
  auto held = mutex{locks, "stock"}.acquire();
  EXPECT_EQ(held.renew(), renewal::renewed);
  console_.set("/stock/" + expect_contenders(1)[0], "__REVOKE__");
  EXPECT_EQ(held.renew(), renewal::renewed);
  EXPECT_EQ(others.inspect("stock").value().holders.size(), 1U);
  EXPECT_EQ(others.force_release("stock"), 1U);
  expect_contenders(0);
  EXPECT_TRUE(comes_true([&] { return !held.held(); }));
}

// Of a reply that names a new node: other paths of the same length, as by a proxy that is broken.
TEST_F(zookeeper_nodes, of_another_name_than_requested_are_reported_and_removed) {
  const auto with = [](std::string text, std::string_view from, const std::string& to) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
    return text;
  };
  for (const std::string& to :
       {std::string{"/x\0ock/_c_", 10}, std::string{"/other/_c_"}, std::string{"/stock/xxx"}}) {
    for (const bool permits : {false, true}) {
      const std::string from = permits ? "/stock/leases/_c_" : "/stock/_c_";
      test::fault_proxy line{server_.port()};
      line.forge([&](std::string_view, std::string_view answer) {
        return with(std::string{answer}, from, to + from.substr(10));
      });
      client locks{"zk://127.0.0.1:" + std::to_string(line.port())};
      const auto failed = failure_of([&] {
        if (permits)
          counting_semaphore{locks, "stock", 2}.acquire();
        else
          mutex{locks, "stock", hasty()}.lock();
      });
      EXPECT_EQ(failed.code, errc::corrupt_store) << failed.text;
      const client looks{server_.url()};
      await([&] { return looks.list().empty(); }, "its nodes stay");
      line.heal();
      EXPECT_TRUE(mutex(locks, "stock").try_acquire_for(60s));
    }
  }
}

}  // namespace
}  // namespace holdfast::faults
