// SPDX-License-Identifier: Apache-2.0
// Many waits one after the other, and nothing that grows with them at the server.

#include "faults/endurance.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>

#include "faults/zookeeper/on_zookeeper.hpp"
#include <holdfast/async.hpp>

namespace holdfast::faults {
namespace {

class zookeeper_endurance : public on_zookeeper {
 protected:
  /// Waits of one client, all at once; each that comes in leaves at once.
  static void wait_at_once(
      client& locks, const std::vector<std::string>& names, std::optional<duration> limit,
      const std::function<void()>& started = [] {}) {
    int granted = 0;
    const auto count = [&](const boost::system::error_code& failed, const lease& held) {
      // A busy server may answer later than a limit.
      const bool is_late = limit && is_unanswered(failed);
      EXPECT_FALSE(failed && !is_late) << failed.message();
      granted += held ? 1 : 0;
    };
    boost::asio::io_context context;
    for (const auto& name : names) {
      mutex lock{locks, name};
      if (limit) {
        lock.async_try_acquire_for(*limit, boost::asio::bind_executor(context, count));
      } else {
        lock.async_acquire(boost::asio::bind_executor(context, count));
      }
    }
    started();
    context.run();
    EXPECT_EQ(granted, limit ? 0 : static_cast<int>(names.size()));
  }
  /// Until the server has as many as before, which it has as soon as what was sent has been carried out.
  void expect_as_before(const std::string& counter, std::int64_t before) {
    comes_true([&] { return server_.monitored(counter) == before; });
    EXPECT_EQ(server_.monitored(counter), before) << counter;
  }
};

TEST_F(zookeeper_endurance, ten_thousand_waits_leave_no_watch_and_no_node) {
  const auto nodes = server_.monitored("zk_znode_count");
  client holders{server_.url(), living(600s)};  // which look after their own nodes long after this
  client locks{server_.url("?session_timeout=40s")};
  const std::vector<std::string> one(200, "stock");
  std::vector<std::string> many;
  for (int each = 0; each < 200; ++each) many.push_back("shelves/" + std::to_string(each));
  for (int round = 0; round < test::amount(1, 16 / share + 1); ++round) {
    for (const auto* names : {&one, &std::as_const(many)}) {
      std::vector<lease> held;
      for (const auto& name : *names) {
        if (auto lease = mutex{holders, name}.try_acquire()) held.push_back(std::move(*lease));
      }
      EXPECT_EQ(held.size(), names == &one ? 1U : many.size());
      wait_at_once(locks, *names, 10ms);
      // What was sent before is carried out before this; then each gives up its place, and its watch in the
      // end, though what it waited for is still there.
      EXPECT_FALSE(mutex(locks, "passing").acquire().release());
      expect_as_before("zk_ephemerals_count", std::ssize(held));
      expect_as_before("zk_watch_count", 0);
      wait_at_once(locks, *names, std::nullopt, [&] { held.clear(); });
    }
  }
  // While both sessions live:
  expect_as_before("zk_watch_count", 0);
  expect_as_before("zk_ephemerals_count", 0);
  expect_as_before("zk_znode_count", nodes);
  EXPECT_EQ(mutex(locks, "stock").acquire().renew(), renewal::renewed);
}

}  // namespace
}  // namespace holdfast::faults
