// SPDX-License-Identifier: Apache-2.0
// Many claims of one session: what is asked and watched grows with them, and not with their square.

#include <gtest/gtest.h>
#include <string>

#include "core/zookeeper_tree.hpp"

namespace holdfast::zookeeper {
namespace {

TEST_F(zookeeper_contention, that_comes_at_once_shares_listings) {
  constexpr std::size_t count = 2000;
  wire_.create("/stock", 0, operation::made::container);
  for (std::size_t i = 0; i < count; ++i) acquire(i, "stock");
  wire_.serve(session_);
  EXPECT_TRUE(is_granted(0));
  EXPECT_EQ(wire_.all.at("/stock").children.size(), count);
  EXPECT_LE(wire_.most_creations, 300U) << "all creations are in flight at once";
  EXPECT_LE(wire_.most_lists, 1U);
  EXPECT_LE(wire_.counts[kind::list], count / 50) << "each claim lists the others";
  EXPECT_LE(wire_.counts[kind::get], count + 1)
      << "a waiter watches its own node, which the next one relies on";
}

TEST_F(zookeeper_contention, is_served_one_by_one_without_a_listing) {
  constexpr std::size_t count = 300;
  wire_.create("/stock", 0, operation::made::container);
  for (std::size_t i = 0; i < count; ++i) acquire(i, "stock");
  wire_.serve(session_);
  wire_.counts.clear();
  for (std::size_t i = 0; i + 1 < count; ++i) {
    ASSERT_TRUE(is_granted(i)) << i;
    EXPECT_FALSE(is_granted(i + 1)) << i;
    send(test::task::release, i, "stock");
    wire_.serve(session_);
  }
  EXPECT_TRUE(is_granted(count - 1));
  EXPECT_EQ(wire_.counts[kind::list], 0U);
}

TEST_F(zookeeper_contention, of_writers_is_served_without_a_listing_too) {
  constexpr std::size_t count = 100;
  wants_ = role::writer;
  for (std::size_t i = 0; i < count; ++i) acquire(i, "stock");
  wire_.serve(session_);
  wire_.counts.clear();
  for (std::size_t i = 0; i + 1 < count; ++i) {
    ASSERT_TRUE(is_granted(i)) << i;
    // Every other one reads on, and has to be waited for all the same.
    if (i % 2 == 0) {
      send(test::task::downgrade, i, "stock");
      wire_.serve(session_);
      EXPECT_FALSE(is_granted(i + 1)) << i << " reads";
    }
    send(test::task::release, i, "stock");
    wire_.serve(session_);
  }
  EXPECT_TRUE(is_granted(count - 1));
  EXPECT_EQ(wire_.counts[kind::list], 0U);
}

TEST_F(zookeeper_contention, that_gives_up_before_it_was_sent_asks_nothing) {
  wire_.create("/stock", 0, operation::made::container);
  for (std::size_t i = 0; i < 1000; ++i) acquire(i, "stock");
  const std::size_t sent = wire_.most_creations;
  for (std::size_t i = 0; i < 1000; ++i) send(test::task::withdraw, i, "stock");
  wire_.serve(session_);
  pass(100ms);
  EXPECT_TRUE(wire_.all.at("/stock").children.empty());
  EXPECT_LE(wire_.counts[kind::list], 2 * sent + 2);
  EXPECT_LE(wire_.counts[kind::create], sent);
}

// Its node is known already, and so are all contenders ahead of it: none.
TEST_F(zookeeper_contention, that_holds_is_found_without_a_listing) {
  acquire(0, "stock");
  wire_.serve(session_);
  ASSERT_TRUE(is_granted(0));
  got_.clear();
  wire_.counts.clear();
  send(test::task::find, 0, "stock");
  pass(50ms);
  EXPECT_TRUE(is_granted(0));
  EXPECT_EQ(wire_.counts[kind::list], 0U);
}

// What is in flight when a session ends may get no answer at all. The next session does not wait for it.
TEST_F(zookeeper_contention, comes_in_the_next_session_though_the_former_one_did_not_answer) {
  wire_.create("/stock", 0, operation::made::container);
  for (std::size_t i = 0; i < 300; ++i) acquire(i, "stock");
  wire_.lose_all();
  session_.expired();
  pass(100ms);
  session_.connected(other_session, 10s, time_.now());
  wire_.begin_session(other_session);
  for (std::size_t i = 1000; i < 1300; ++i) acquire(i, "stock");
  wire_.serve(session_);
  EXPECT_TRUE(is_granted(1000));
  EXPECT_EQ(wire_.all.at("/stock").children.size(), 300U);
}

// The C client sets all watches again in one packet, which the servers refuse from 1 MiB on.
TEST_F(zookeeper_contention, watches_no_more_than_a_packet_can_set_again) {
  constexpr std::size_t count = 2500;
  const std::string name(440, 'n');
  for (std::size_t i = 0; i < count; ++i) acquire(i, name + std::to_string(i));
  wire_.serve(session_);
  renew(count, name);
  EXPECT_EQ(kept(), std::vector<bool>(count, true));
  EXPECT_LT(wire_.watched_bytes(), wire_nodes::most_watched);
  EXPECT_GT(wire_.watched_bytes(), wire_nodes::most_watched_with_own / 2);
  // Those that are not watched are looked at with each renewal.
  const std::string last = "/" + name + std::to_string(count - 1);
  ASSERT_FALSE(wire_.watched.contains(node_of(0, last)));
  wire_.remove(node_of(0, last), session_);
  EXPECT_TRUE(received_.empty());
  renew(count, name);
  EXPECT_FALSE(kept().back());
  EXPECT_EQ(received_[owner(count - 1)], std::vector{store::notification_kind::revoked});
}

TEST_F(zookeeper_contention, waits_without_watches_where_there_is_no_room) {
  constexpr std::size_t count = 2500;
  const std::string name(440, 'n');
  // Behind others, all of them.
  for (std::size_t i = 0; i < count; ++i) {
    const std::string path = "/" + name + std::to_string(i);
    wire_.create(path, 0, operation::made::container);
    wire_.create(path + "/_c_00000000-0000-4000-8000-000000000000-lock-", other_session,
                 operation::made::sequential);
    acquire(i, name + std::to_string(i));
  }
  wire_.serve(session_);
  EXPECT_LT(wire_.watched_bytes(), wire_nodes::most_watched);
  const std::string last = "/" + name + std::to_string(count - 1);
  ASSERT_FALSE(wire_.watched.contains(node_of(0, last)));
  wire_.remove(node_of(0, last), session_);
  pass(10s);
  EXPECT_TRUE(is_granted(count - 1)) << "nobody looked";
  // An operator has removed its own node: it does not come in with nothing.
  const std::string before = "/" + name + std::to_string(count - 2);
  ASSERT_FALSE(wire_.watched.contains(node_of(1, before)));
  wire_.remove(node_of(1, before), session_);
  wire_.remove(node_of(0, before), session_);
  pass(10s);
  EXPECT_EQ(received_[owner(count - 2)], std::vector{store::notification_kind::revoked});
  EXPECT_FALSE(is_granted(count - 3));
  EXPECT_LT(wire_.watched_bytes(), wire_nodes::most_watched);
}

TEST_F(zookeeper_contention, goes_on_looking_over_a_new_connection) {
  constexpr std::size_t count = 2500;
  const std::string name(440, 'n');
  for (std::size_t i = 0; i < count; ++i) {
    const std::string path = "/" + name + std::to_string(i);
    wire_.create(path, 0, operation::made::container);
    wire_.create(path + "/_c_00000000-0000-4000-8000-000000000000-lock-", other_session,
                 operation::made::sequential);
    acquire(i, name + std::to_string(i));
  }
  wire_.serve(session_);
  session_.disconnected();
  time_.run_for(10s);
  session_.connected(session_id, 10s, time_.now());
  wire_.serve(session_);
  wire_.remove(node_of(0, "/" + name + std::to_string(count - 1)), session_);
  pass(10s);
  EXPECT_TRUE(is_granted(count - 1));
}

// Several readers wait for one writer, and one watch serves them all. The reader that has asked for it may
// give up, and the others need the answer.
class zookeeper_readers : public zookeeper_contention {
 protected:
  /// Readers 1 and 2 wait behind a writer. The watch that reader 1 has asked for, for both, is not answered
  /// yet.
  zookeeper_readers() {
    wire_.create("/stock", 0, operation::made::container);
    writer_ = wire_.create("/stock/_c_00000000-0000-4000-8000-000000000000-__WRIT__", other_session,
                           operation::made::sequential);
    wants_ = role::reader;
    waits_ = false;
    acquire(0, "stock");  // whose listing is under way while the others come, who share the next one
    waits_ = true;
    acquire(1, "stock");
    acquire(2, "stock");
    wire_.serve_until(session_, writer_);
  }
  void give_up() { send(test::task::withdraw, 1, "stock"); }
  void expect_grant_when_the_writer_goes() {
    pass(1s);
    EXPECT_FALSE(is_granted(2));
    wire_.remove(writer_, session_);
    pass(1s);
    EXPECT_TRUE(is_granted(2));
  }

  std::string writer_;
};

TEST_F(zookeeper_readers, hear_that_the_writer_has_gone_before_it_was_watched) {
  give_up();
  wire_.remove(writer_);
  wire_.serve(session_);
  EXPECT_TRUE(is_granted(2));
}

TEST_F(zookeeper_readers, hear_that_the_watch_is_refused_to_one_who_has_given_up) {
  give_up();
  wire_.unreadable.insert(writer_);
  wire_.serve(session_);
  expect_grant_when_the_writer_goes();
}

TEST_F(zookeeper_readers, hear_that_the_watch_is_refused_to_one_who_gives_up_later) {
  wire_.unreadable.insert(writer_);
  wire_.serve(session_);
  give_up();
  wire_.serve(session_);
  expect_grant_when_the_writer_goes();
}

}  // namespace
}  // namespace holdfast::zookeeper
