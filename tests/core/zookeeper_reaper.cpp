// SPDX-License-Identifier: Apache-2.0
// Nodes that must not stay are removed, whatever becomes of the connection.

#include <cstdint>
#include <deque>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stores/zookeeper/protocol/reaper.hpp"
#include "stores/zookeeper/protocol/wire_nodes.hpp"

namespace holdfast::zookeeper {
namespace {

using kind = operation_kind;

constexpr std::int64_t first_session = 7;
constexpr std::int64_t second_session = 8;

/// Keeps what is submitted until the test answers it.
class waiting_wire final : public wire {
 public:
  void submit(operation step, on_result handler) override {
    open_.emplace_back(std::move(step), std::move(handler));
  }
  [[nodiscard]] const operation& next() const { return open_.at(0).first; }
  [[nodiscard]] bool is_idle() const { return open_.empty(); }
  void answer_next(answer code, std::vector<std::string> children = {}) {
    const auto [step, handler] = std::move(open_.at(0));
    open_.pop_front();
    handler({.code = code,
             .path = step.path,
             .children = std::move(children),
             .reason = {errc::unavailable, "the test says so"}});
  }

 private:
  std::deque<std::pair<operation, on_result>> open_;
};

class zookeeper_reaper : public testing::Test {
 protected:
  zookeeper_reaper() { nodes_.connected(first_session); }

  void reconnect(std::int64_t session = first_session) {
    nodes_.connected(session);
    reaper_.resume();
  }
  void search() {
    reaper_.search({guid_, "/stock", {}},
                   [this](std::optional<store::request_error> t) { error_ = std::move(t); });
  }
  [[nodiscard]] std::string node_of(const owner_id& guid) const {
    return node_name(layout::curator, role::mutex, guid) + "0000000001";
  }

  const owner_id guid_{{1, 2, 3}};
  waiting_wire wire_;
  wire_nodes nodes_{wire_};
  std::vector<std::string> removed_;
  reaper reaper_{nodes_, layout::curator, [this](const std::string& path) { removed_.push_back(path); }};
  std::optional<store::request_error> error_;
};

TEST_F(zookeeper_reaper, removes_a_node_again_until_the_servers_answer) {
  reaper_.remove("/stock/node");
  wire_.answer_next(answer::unknown);
  EXPECT_TRUE(reaper_.is_pending("/stock/node"));
  EXPECT_TRUE(removed_.empty());
  reconnect();
  ASSERT_EQ(wire_.next().kind, kind::remove);
  wire_.answer_next(answer::done);
  EXPECT_FALSE(reaper_.is_pending("/stock/node"));
  EXPECT_EQ(removed_, std::vector<std::string>{"/stock/node"});
  reconnect();
  EXPECT_TRUE(wire_.is_idle());
}

TEST_F(zookeeper_reaper, takes_a_node_that_is_not_there_for_removed) {
  reaper_.remove("/stock/node");
  wire_.answer_next(answer::no_node);
  EXPECT_EQ(removed_, std::vector<std::string>{"/stock/node"});
}

TEST_F(zookeeper_reaper, removes_after_a_vote_the_nodes_of_one_guid_alone) {
  search();
  ASSERT_EQ(wire_.next().kind, kind::agree);
  wire_.answer_next(answer::done);
  ASSERT_EQ(wire_.next().kind, kind::list);
  wire_.answer_next(answer::done, {node_of(owner_id{{9, 9, 9}}), node_of(guid_)});
  EXPECT_FALSE(error_);
  ASSERT_EQ(wire_.next().kind, kind::remove);
  EXPECT_EQ(wire_.next().path, "/stock/" + node_of(guid_));
  wire_.answer_next(answer::done);
  EXPECT_TRUE(wire_.is_idle());
}

TEST_F(zookeeper_reaper, searches_again_over_the_next_connection_of_the_session) {
  search();
  wire_.answer_next(answer::unknown);
  wire_.answer_next(answer::unknown);
  EXPECT_TRUE(error_);
  reconnect();
  ASSERT_EQ(wire_.next().kind, kind::agree);
}

TEST_F(zookeeper_reaper, does_nothing_in_a_session_that_has_other_nodes) {
  reaper_.remove("/stock/node");
  search();
  nodes_.expired();
  reaper_.expired();
  while (!wire_.is_idle()) wire_.answer_next(answer::not_sent);
  reconnect(second_session);
  EXPECT_TRUE(wire_.is_idle());
}

}  // namespace
}  // namespace holdfast::zookeeper
