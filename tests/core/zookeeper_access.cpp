// SPDX-License-Identifier: Apache-2.0
// Claims of a session among nodes that may not be read or listed, and what is shown of many.

#include <gtest/gtest.h>
#include <string>

#include "core/zookeeper_tree.hpp"

namespace holdfast::zookeeper {
namespace {

// A node may be asked about by everybody, and read by those who have the right.
TEST_F(zookeeper_contention, waits_behind_a_node_that_may_not_be_read) {
  wire_.create("/stock", 0, operation::made::container);
  const auto ahead = wire_.create("/stock/_c_00000000-0000-4000-8000-000000000000-lock-", other_session,
                                  operation::made::sequential);
  wire_.unreadable.insert(ahead);
  acquire(1, "stock");
  wire_.serve(session_);
  acquire(2, "stock");
  wire_.serve(session_);
  pass(1s);
  EXPECT_FALSE(is_granted(1));
  wire_.remove(ahead, session_);
  pass(1s);
  EXPECT_TRUE(is_granted(1));
  EXPECT_FALSE(is_granted(2));
}

TEST_F(zookeeper_contention, notices_the_end_of_its_own_node_that_it_may_not_read) {
  acquire(0, "stock0");
  wire_.serve(session_);
  const auto own = node_of(0, "/stock0");
  wire_.unreadable.insert(own);
  renew(1, "stock");
  EXPECT_EQ(kept(), std::vector{true});
  wire_.remove(own, session_);
  renew(1, "stock");
  EXPECT_EQ(kept(), std::vector{false});
  EXPECT_EQ(received_[owner(0)], std::vector{store::notification_kind::revoked});
}

TEST_F(zookeeper_contention, waits_behind_a_node_of_its_own_that_may_not_be_read) {
  wire_.reads_own = false;
  for (std::size_t i = 0; i < 4; ++i) acquire(i, "stock");
  wire_.serve(session_);
  for (std::size_t i = 0; i < 4; ++i) {
    pass(1s);
    ASSERT_TRUE(is_granted(i)) << i;
    for (std::size_t later = i + 1; later < 4; ++later) EXPECT_FALSE(is_granted(later)) << i;
    wire_.remove(node_of(i, "/stock"), session_);
    send(test::task::release, i, "stock");
    wire_.serve(session_);
  }
}

TEST_F(zookeeper_contention, leaves_nothing_where_it_may_not_list) {
  wire_.create("/stock", 0, operation::made::container);
  wire_.unreadable.insert("/stock");
  acquire(1, "stock");
  wire_.serve(session_);
  const auto* failed = std::get_if<store::request_error>(&got_.at(1));
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->reason.code, errc::permission_denied);
  EXPECT_FALSE(failed->maybe_executed);
  EXPECT_TRUE(wire_.all.at("/stock").children.empty());
}

/// Replies by which a new node has a name that it cannot have.
class zookeeper_misnamed_nodes : public zookeeper_contention {
 protected:
  /// Fails, with nothing left behind, and a later one is granted.
  void expect_refusal(const std::function<std::string(std::string)>& renames, std::int64_t capacity) {
    wire_.renames = renames;
    acquire_of(1, capacity);
    const auto* const failed = std::get_if<store::request_error>(&got_.at(1));
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->reason.code, errc::corrupt_store) << failed->reason.message;
    EXPECT_TRUE(std::none_of(wire_.all.begin(), wire_.all.end(),
                             [](const auto& each) { return each.second.session == session_id; }));
    wire_.renames = nullptr;
    acquire_of(2, capacity);
    EXPECT_TRUE(is_granted(2));
    send(test::task::release, 2, "stock");
    wire_.serve(session_);
  }
  void acquire_of(std::size_t number, std::int64_t capacity) {
    test::request_form r;
    r.kind = test::task::acquire;
    r.name = "stock";
    r.owner = owner(number);
    r.capacity = capacity;
    r.weight = capacity == store::full_capacity ? capacity : 2;
    r.ttl = 30s;
    session_.send(r, [this, number](outcome o) { got_[number] = std::move(o); });
    wire_.serve(session_);
  }
};

const std::vector<std::function<std::string(std::string)>> misnamers{
    [](const std::string&) { return std::string{}; },
    [](const std::string&) { return std::string{"/x"}; },
    [](const std::string& path) { return parent(path); },
    [](const std::string& path) { return parent(path) + '/'; },
    [](const std::string& path) { return "/another" + path; },
    [](const std::string& path) { return path + "garbage"; },
    [](const std::string& path) { return path.substr(0, path.size() - 10); }};

TEST_F(zookeeper_misnamed_nodes, are_no_place_in_the_queue) {
  for (const auto& each : misnamers) expect_refusal(each, store::full_capacity);
}

TEST_F(zookeeper_misnamed_nodes, are_no_permits) {
  for (const auto& each : misnamers) {
    expect_refusal(
        [&](const std::string& path) { return path.starts_with("/stock/leases/") ? each(path) : path; }, 3);
  }
}

// Curator's Revoker writes into the node of a holder, to ask it to release.
TEST_F(zookeeper_contention, takes_its_nodes_for_its_own_whatever_others_have_written_there) {
  acquire(0, "stock");
  wire_.serve(session_);
  wire_.all.at(node_of(0, "/stock")).data = "__REVOKE__";
  send(test::task::force_release, 9, "stock");
  wire_.serve(session_);
  const auto* r = std::get_if<tickets::reply>(&got_.at(9));
  ASSERT_TRUE(r);
  EXPECT_EQ(std::get<tickets::count>(*r).value, 1U);
  // Java's are left alone.
  wire_.create("/stock/_c_00000000-0000-4000-8000-000000000000-lock-", other_session,
               operation::made::sequential);
  send(test::task::force_release, 9, "stock");
  wire_.serve(session_);
  EXPECT_TRUE(std::holds_alternative<store::request_error>(got_.at(9)));
}

TEST_F(zookeeper_contention, is_inspected_no_further_than_was_asked_for) {
  for (std::size_t i = 0; i < 1000; ++i) acquire(i, "stock");
  wire_.serve(session_);
  for (const std::size_t most : {std::size_t{0}, std::size_t{10}, std::size_t{1000}}) {
    wire_.counts.clear();
    wire_.most_gets = 0;
    test::request_form r;
    r.kind = test::task::inspect;
    r.name = "stock";
    r.waiters_read = most;
    std::optional<outcome> seen;
    session_.send(r, [&](outcome o) { seen = std::move(o); });
    wire_.serve(session_);
    const auto& state = std::get<std::optional<lock_state>>(std::get<tickets::reply>(*seen));
    EXPECT_EQ(state->holders.size(), 1U);
    EXPECT_EQ(state->waiters.size(), std::min<std::size_t>(most, 999));
    EXPECT_LE(wire_.counts[kind::get], most + 3);
    EXPECT_LE(wire_.most_gets, 64U);
  }
}

TEST_F(zookeeper_contention, of_names_is_listed_some_at_a_time) {
  for (std::size_t i = 0; i < 1000; ++i) acquire(i, "shelves/" + std::to_string(i));
  wire_.serve(session_);
  wire_.most_lists = 0;
  test::request_form r;
  r.kind = test::task::list;
  std::optional<outcome> seen;
  session_.send(r, [&](outcome o) { seen = std::move(o); });
  wire_.serve(session_);
  EXPECT_EQ(std::get<std::vector<lock_summary>>(std::get<tickets::reply>(*seen)).size(), 1000U);
  EXPECT_LE(wire_.most_lists, 64U);
}

TEST_F(zookeeper_contention, of_long_queues_is_listed_each_once_and_few_at_a_time) {
  constexpr std::size_t names = 20;
  constexpr std::size_t waiters = 2000;
  for (std::size_t i = 0; i < names; ++i) {
    acquire(i, "shelves/" + std::to_string(i));
    wire_.serve(session_);
    for (std::size_t j = 0; j < waiters; ++j) {
      wire_.create("/shelves/" + std::to_string(i) + "/_c_00000000-0000-4000-8000-000000000000-lock-",
                   other_session, operation::made::sequential);
    }
  }
  wire_.counts.clear();
  wire_.most_listed = 0;
  test::request_form r;
  r.kind = test::task::list;
  std::optional<outcome> seen;
  session_.send(r, [&](outcome o) { seen = std::move(o); });
  wire_.serve(session_);
  const auto& lines = std::get<std::vector<lock_summary>>(std::get<tickets::reply>(*seen));
  ASSERT_EQ(lines.size(), names);
  for (const lock_summary& line : lines) EXPECT_EQ(line.waiters, waiters);
  EXPECT_LE(wire_.most_listed, 16'000);
  EXPECT_EQ(wire_.counts[kind::list], names + 2) << "and the nodes above them";
}

}  // namespace
}  // namespace holdfast::zookeeper
