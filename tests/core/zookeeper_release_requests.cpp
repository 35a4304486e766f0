// SPDX-License-Identifier: Apache-2.0
// When a holder hears of a request to release, which somebody has written into its node.

#include <algorithm>
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <memory>
#include <string>

#include "base/metadata.hpp"
#include "core/zookeeper_tree.hpp"
#include "stores/zookeeper/protocol/note.hpp"

namespace holdfast::zookeeper {
namespace {

class zookeeper_release_requests : public zookeeper_contention {
 protected:
  zookeeper_release_requests() {
    wire_.create("/stock", 0, operation::made::container);
    ahead_ = wire_.create("/stock/" + node_name(layout::curator, role::mutex, marked_as_ours(owner(9))),
                          other_session, operation::made::sequential);
  }
  void claim() {
    test::request_form r;
    r.kind = test::task::acquire;
    r.name = "stock";
    r.owner = owner(0);
    r.weight = r.capacity = store::full_capacity;
    r.ttl = 30s;
    r.wait = true;
    r.metadata = std::make_shared<const std::string>(R"({"host":"here"})");
    session_.send(r, [this](outcome o) { got_[0] = std::move(o); });
  }
  void request_release() {
    std::string& data = wire_.all.at(node_of(1, "/stock")).data;
    note n = *read_note(data);
    n.metadata = with_release_request(n.metadata, "why");
    data = to_text(n);
  }
  void renew_once() {
    test::request_form r;
    r.kind = test::task::renew;
    r.holds.push_back({"stock", owner(0), fencing_token{1}, 30s});
    session_.send(r, [](const outcome&) {});
    wire_.serve(session_);
  }
  [[nodiscard]] bool is_granted() const {
    const auto received = received_.find(owner(0));
    return received != received_.end() && std::count(received->second.begin(), received->second.end(),
                                                     store::notification_kind::granted) == 1;
  }
  [[nodiscard]] std::size_t requests_heard() const {
    const auto received = received_.find(owner(0));
    if (received == received_.end()) return 0;
    return static_cast<std::size_t>(std::count(received->second.begin(), received->second.end(),
                                               store::notification_kind::release_requested));
  }

  std::string ahead_;
};

// The servers have ended the hold ahead, and carried out the request, before they read the waiter's node.
TEST_F(zookeeper_release_requests, that_come_while_a_waiter_begins_to_watch_its_node_are_heard) {
  claim();
  while (node_of(1, "/stock").empty()) wire_.serve_next(session_);
  wire_.serve_until(session_, node_of(1, "/stock"));
  wire_.remove(ahead_);
  request_release();
  wire_.serve(session_);
  ASSERT_TRUE(is_granted());
  EXPECT_EQ(requests_heard(), 1U);
  renew_once();
  EXPECT_EQ(requests_heard(), 1U);
}

// Likewise where its node is watched already, and is read again because somebody has written to it.
TEST_F(zookeeper_release_requests, that_come_before_a_waiter_hears_of_its_turn_are_heard) {
  claim();
  wire_.serve(session_);
  ASSERT_FALSE(is_granted());
  request_release();
  wire_.watched.erase(node_of(1, "/stock"));
  session_.happened(node_of(1, "/stock"), change::data);
  wire_.remove(ahead_, session_);
  wire_.serve(session_);
  ASSERT_TRUE(is_granted());
  EXPECT_EQ(requests_heard(), 1U);
  renew_once();
  EXPECT_EQ(requests_heard(), 1U);
}

// At the end of the counter the numbers do not tell who holds: see is_of_the_end.
TEST_F(zookeeper_release_requests, are_for_the_holder_that_is_downgraded_while_an_open_order_is_read) {
  wire_.remove(ahead_);
  constexpr std::int32_t last_number = std::numeric_limits<std::int32_t>::max();
  const auto create = [&](const std::string& node, fencing_token token = {}) {
    const std::string path = wire_.create("/stock/" + node, other_session, operation::made::ephemeral);
    note n;
    n.token = token;
    wire_.all[path].data = to_text(n);
    return path;
  };
  const owner_id holder = marked_as_ours(owner(1));
  const std::string end = std::to_string(last_number);
  const std::string writer = create(node_name(layout::curator, role::writer, holder) + end);
  const std::string waiter = create(node_name(layout::curator, role::writer, marked_as_ours(owner(2))) + end);
  test::request_form r;
  r.kind = test::task::request_release;
  r.name = "stock";
  session_.send(r, [this](outcome o) { got_[0] = std::move(o); });
  wire_.serve_until(session_, writer);
  const fencing_token token{static_cast<std::uint64_t>(wire_.all.at(writer).created)};
  wire_.remove(writer);
  const std::string reader = create(downgraded(layout::curator, last_number, holder), token);
  wire_.serve(session_);
  EXPECT_EQ(wire_.all[waiter].version, 0);
  EXPECT_EQ(wire_.all[reader].version, 1);
  EXPECT_EQ(std::get<tickets::count>(std::get<tickets::reply>(got_[0])).value, 1U);
}

}  // namespace
}  // namespace holdfast::zookeeper
