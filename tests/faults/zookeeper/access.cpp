// SPDX-License-Identifier: Apache-2.0
// Nodes that not everybody may touch, and quotas.

#include "faults/zookeeper/on_zookeeper.hpp"

namespace holdfast::faults {
namespace {

using testing::HasSubstr;

const std::vector<zookeeper_console::right> anns{{31, "auth", ""}};  // whoever is logged in
constexpr auto ann_hash = "ann:7RJfAeIvrl4zdj6sS2fXrQHDvHM=";        // of ann:secret

class zookeeper_access : public on_zookeeper {
 protected:
  zookeeper_access() : on_zookeeper{{.options = {"-Dzookeeper.enforceQuota=true"}}} {
    ann_.log_in("ann:secret");
  }
  [[nodiscard]] std::string url(const std::string& options) const {
    return server_.url("?session_timeout=20s" + options);
  }
  static failing refused(client& locks, const std::string& name = "stock") {
    return failure_of([&] { mutex{locks, name, hasty()}.lock(); });
  }

  zookeeper_console ann_{server_.port()};
};

TEST_F(zookeeper_access, is_for_those_who_are_logged_in) {
  ann_.create("/stock", {}, zookeeper_console::kind::persistent, anns);
  client right{url("&auth=digest:ann:secret")};
  for (const auto* account : {"", "&auth=digest:ann:wrong", "&auth=digest:bob:secret"}) {
    client wrong{url(account)};
    for (const auto* name : {"stock", "stock/sku-42"}) {
      const auto failed = refused(wrong, name);
      EXPECT_EQ(failed.code, errc::permission_denied) << failed.text;
      EXPECT_THAT(failed.text, HasSubstr("/stock"));
      EXPECT_THAT(failed.text, testing::Not(HasSubstr("wrong"))) << "a secret in a message";
    }
    EXPECT_EQ(failure_of([&] { (void)wrong.inspect("stock"); }).code, errc::permission_denied);
    EXPECT_TRUE(mutex(wrong, "free").try_lock()) << "everybody may";
  }
  auto held = mutex{right, "stock"}.acquire();
  EXPECT_EQ(held.renew(), renewal::renewed);
  EXPECT_FALSE(held.release());
  EXPECT_TRUE(ann_.children("/stock").empty());
}

TEST_F(zookeeper_access, can_be_kept_to_those_with_the_same_login) {
  client mine{url("&auth=digest:ann:secret&acl=auth")};
  client same{url("&auth=digest:ann:secret&acl=auth")};
  client hashed{url("&auth=digest:ann:secret&acl=digest:" + std::string{ann_hash})};
  client everybody{url("")};
  for (auto* maker : {&mine, &hashed}) {
    const std::string name = maker == &mine ? "mine" : "hashed";
    auto held = mutex{*maker, name}.acquire();
    EXPECT_EQ(refused(everybody, name).code, errc::permission_denied);
    EXPECT_EQ(failure_of([&] { everybody.force_release(name); }).code, errc::permission_denied);
    EXPECT_EQ(held.renew(), renewal::renewed);
    auto next = std::async(std::launch::async, [&] { return mutex{same, name}.acquire(); });
    await([&] { return !same.inspect(name).value().waiters.empty(); }, "nobody waits");
    EXPECT_FALSE(held.release());
    EXPECT_TRUE(next.get().held());
  }
}

TEST_F(zookeeper_access, that_is_wrongly_set_up_says_so) {
  // Nobody may do anything, our own included.
  client other{url("&acl=digest:bob:AAAAAAAAAAAAAAAAAAAAAAAAAAA=")};
  const auto failed = refused(other);
  EXPECT_EQ(failed.code, errc::permission_denied) << failed.text;
  for (const auto* options :
       {"&acl=auth", "&acl=digest", "&acl=bob", "&auth=ann:secret", "&auth=digest:ann"}) {
    const auto unread = failure_of([&] { client{url(options)}; });
    EXPECT_EQ(unread.code, errc::invalid_url) << options << unread.text;
    EXPECT_THAT(unread.text, testing::Not(HasSubstr("secret"))) << "a secret in a message";
  }
}

// Curator's with an ACLProvider, kazoo's with default_acl, ours with acl=auth.
TEST_F(zookeeper_access, to_the_node_ahead_need_not_be_had_to_wait_for_it) {
  console_.create("/stock");
  const auto ahead = ann_.create("/stock/_c_00000000-0000-4000-8000-000000000000-lock-", {},
                                 zookeeper_console::kind::sequential, anns);
  client locks{url("")};
  auto next = std::async(std::launch::async, [&] { return mutex{locks, "stock"}.acquire(); });
  expect_contenders(2);
  auto limited = std::async(std::launch::async, [&] { return mutex{locks, "stock"}.try_acquire_for(20s); });
  expect_contenders(3);
  EXPECT_EQ(next.wait_for(0s), std::future_status::timeout);
  ann_.remove(ahead);
  auto held = next.get();
  EXPECT_TRUE(held.held());
  EXPECT_FALSE(held.release());
  EXPECT_TRUE(limited.get());
}

TEST_F(zookeeper_access, to_its_own_node_is_not_needed) {
  console_.create("/stock");
  client other{url("&acl=digest:" + std::string{ann_hash})};  // it is not logged in as her
  auto held = mutex{other, "stock"}.acquire();
  EXPECT_EQ(held.renew(), renewal::renewed);
  const auto own = expect_contenders(1)[0];
  ann_.remove("/stock/" + own);
  EXPECT_EQ(held.renew(), renewal::lost);
}

TEST_F(zookeeper_access, to_list_is_needed_and_nothing_stays_behind_without) {
  console_.create("/stock", {}, zookeeper_console::kind::persistent,
                  {{4 | 8, "world", "anyone"}, {31, "digest", ann_hash}});
  client locks{url("")};
  for (int i = 0; i < 3; ++i) {
    const auto failed = refused(locks);
    EXPECT_EQ(failed.code, errc::permission_denied) << failed.text;
    EXPECT_TRUE(ann_.children("/stock").empty()) << "it stands in the way of all others";
  }
}

TEST_F(zookeeper_access, that_is_taken_away_while_holding_says_so) {
  auto locks = std::make_unique<client>(url(""));
  client others{url("")};
  auto held = mutex{*locks, "stock"}.acquire();
  auto next = std::async(std::launch::async, [&] { return mutex{others, "stock"}.acquire(); });
  expect_contenders(2);
  ann_.set_rights("/stock", {{1, "world", "anyone"}, {31, "auth", ""}});  // to look is all that others may
  EXPECT_EQ(held.renew(), renewal::renewed);
  EXPECT_EQ(refused(*locks).code, errc::permission_denied);
  EXPECT_EQ(held.release(), errc::unknown_outcome) << "nobody could remove it";
  locks.reset();  // which ends its session, and with that its nodes
  EXPECT_TRUE(next.get().held());
}

TEST_F(zookeeper_access, within_a_quota_ends_with_it) {
  console_.create("/stock");
  console_.create("/zookeeper/quota/stock");
  console_.create("/zookeeper/quota/stock/zookeeper_limits",
                  "count=-1,bytes=-1=;byteHardLimit=-1;countHardLimit=2");
  console_.create("/zookeeper/quota/stock/zookeeper_stats", "count=1,bytes=0");
  client locks{url("")};
  client others{url("")};
  auto held = mutex{locks, "stock"}.acquire();
  const auto failed = refused(others);
  EXPECT_EQ(failed.code, errc::exhausted) << failed.text;
  EXPECT_THAT(failed.text, HasSubstr("quota"));
  EXPECT_EQ(held.renew(), renewal::renewed);
  EXPECT_FALSE(held.release());
  EXPECT_TRUE(mutex(others, "stock").try_lock());
}

}  // namespace
}  // namespace holdfast::faults
