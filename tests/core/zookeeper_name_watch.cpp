// SPDX-License-Identifier: Apache-2.0
// What a watch of single names reads and watches at ZooKeeper's servers, step by step.

#include <deque>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/virtual_time.hpp"
#include "stores/zookeeper/protocol/name_watch.hpp"
#include "stores/zookeeper/protocol/wire_nodes.hpp"

namespace holdfast::zookeeper {
namespace {

using namespace std::chrono_literals;
using kind = operation_kind;

class zookeeper_name_watch : public testing::Test, private wire {
 protected:
  zookeeper_name_watch() { connect(); }

  void connect() {
    nodes_.connected(1);
    names_.connected();
  }
  void watch(const std::string& name) {
    names_.watch(name, [this, name] { ++calls_[name]; });
  }
  void happened(const std::string& path, change event) {
    nodes_.happened(path, event);
    names_.happened(path, event);
  }
  /// The oldest request without an answer: its kind and path, and "!" if it sets a watch.
  [[nodiscard]] std::string next() const {
    if (open_.empty()) return "";
    const operation& o = open_.front().first;
    const std::map<kind, std::string> kinds{
        {kind::list, "list"}, {kind::exists, "exists"}, {kind::unwatch, "unwatch"}};
    return kinds.at(o.kind) + (o.watch ? "! " : " ") + o.path + (o.children ? " children" : "");
  }
  void answer_next(answer code, std::vector<std::string> children = {}) {
    const auto [step, done] = std::move(open_.front());
    open_.pop_front();
    done({.code = code, .path = step.path, .children = std::move(children)});
  }

  test::virtual_time time_;
  wire_nodes nodes_{*this};
  bool is_needed_by_others_ = false;
  name_watch names_{time_, nodes_, "", [this](const std::string&) { return is_needed_by_others_; }};
  std::map<std::string, int> calls_;
  std::deque<std::pair<operation, on_result>> open_;

 private:
  void submit(operation step, on_result done) override {
    open_.emplace_back(std::move(step), std::move(done));
  }
};

TEST_F(zookeeper_name_watch, reads_the_node_of_the_name_alone) {
  watch("stock");
  EXPECT_EQ(next(), "list! /stock");
  answer_next(answer::done, {"_c_x-lock-0000000001", "another name"});
  EXPECT_EQ(next(), "");
  EXPECT_EQ(calls_["stock"], 1);
  happened("/stock", change::children);
  EXPECT_EQ(calls_["stock"], 1) << "called before the next change would be noticed";
  EXPECT_EQ(next(), "list! /stock");
  answer_next(answer::done);
  EXPECT_EQ(calls_["stock"], 2);
  happened("/other", change::children);
  EXPECT_EQ(next(), "");
}

TEST_F(zookeeper_name_watch, waits_for_the_creation_of_a_node) {
  watch("stock");
  answer_next(answer::no_node);
  EXPECT_EQ(next(), "exists! /stock");
  answer_next(answer::no_node);
  EXPECT_EQ(calls_["stock"], 1);
  EXPECT_TRUE(nodes_.is_watched("/stock", watch_kind::node));
  happened("/stock", change::created);
  EXPECT_EQ(next(), "list! /stock");
  answer_next(answer::done);
  EXPECT_EQ(calls_["stock"], 2);
  happened("/stock", change::removed);
  EXPECT_EQ(next(), "list! /stock");
  answer_next(answer::no_node);
  EXPECT_EQ(next(), "exists! /stock");
}

TEST_F(zookeeper_name_watch, reads_a_node_that_is_created_between_its_two_questions) {
  watch("stock");
  answer_next(answer::no_node);
  answer_next(answer::done);
  EXPECT_EQ(next(), "list! /stock");
  answer_next(answer::done);
  EXPECT_EQ(calls_["stock"], 1);
}

// The client below sets a watch again with each connection of its session, so it is there until it is ended.
TEST_F(zookeeper_name_watch, ends_the_watch_of_a_node_that_was_awaited_over_another_connection) {
  watch("stock");
  answer_next(answer::no_node);
  answer_next(answer::no_node);
  nodes_.disconnected();
  connect();
  EXPECT_EQ(next(), "list! /stock");
  answer_next(answer::no_node);
  EXPECT_EQ(next(), "") << "it is awaited";
  EXPECT_EQ(calls_["stock"], 2) << "something may have happened between the connections";
  names_.watch("stock", nullptr);
  EXPECT_EQ(next(), "unwatch /stock");
}

TEST_F(zookeeper_name_watch, reads_the_parts_of_a_semaphore) {
  watch("rooms");
  answer_next(answer::done, {"leases", "locks", "leases2"});
  EXPECT_EQ(next(), "list! /rooms/leases");
  answer_next(answer::done);
  EXPECT_EQ(next(), "list! /rooms/locks");
  answer_next(answer::done);
  const int before = calls_["rooms"];
  happened("/rooms/leases", change::children);
  EXPECT_EQ(next(), "list! /rooms/leases");
  answer_next(answer::done);
  EXPECT_EQ(calls_["rooms"], before + 1);
  EXPECT_TRUE(names_.watches("/rooms/locks"));
  happened("/rooms/locks", change::removed);
  EXPECT_EQ(next(), "") << "that is an event of the node above, too";
}

TEST_F(zookeeper_name_watch, begins_anew_with_each_connection) {
  watch("stock");
  answer_next(answer::unknown);
  EXPECT_EQ(next(), "");
  nodes_.disconnected();
  watch("other");
  EXPECT_EQ(next(), "");
  connect();
  EXPECT_EQ(next(), "list! /other");
  answer_next(answer::done);
  EXPECT_EQ(next(), "list! /stock");
  answer_next(answer::done);
  EXPECT_EQ(calls_["stock"], 1);
  names_.expired();
  connect();
  EXPECT_EQ(next(), "list! /other");
}

TEST_F(zookeeper_name_watch, ends_the_watches_that_nobody_else_needs) {
  watch("stock");
  answer_next(answer::done, {"locks"});
  answer_next(answer::done);
  names_.watch("stock", nullptr);
  EXPECT_EQ(next(), "unwatch /stock children");
  answer_next(answer::done);
  EXPECT_EQ(next(), "unwatch /stock/locks children");
  answer_next(answer::done);

  watch("stock");
  answer_next(answer::no_node);
  answer_next(answer::no_node);
  names_.watch("stock", nullptr);
  EXPECT_EQ(next(), "unwatch /stock");
  answer_next(answer::done);

  watch("stock");
  answer_next(answer::done);
  is_needed_by_others_ = true;
  names_.watch("stock", nullptr);
  EXPECT_EQ(next(), "");
}

TEST_F(zookeeper_name_watch, hears_nothing_of_an_answer_after_its_end) {
  watch("stock");
  names_.watch("stock", nullptr);
  answer_next(answer::done, {"locks"});
  EXPECT_EQ(next(), "unwatch /stock children");
  EXPECT_EQ(calls_["stock"], 0);
}

TEST_F(zookeeper_name_watch, calls_once_a_second_what_it_cannot_watch) {
  watch("stock");
  answer_next(answer::refused);
  EXPECT_EQ(calls_["stock"], 0);
  time_.run_for(1s);
  EXPECT_EQ(calls_["stock"], 1);
  EXPECT_EQ(next(), "list! /stock");
  answer_next(answer::done);
  const int before = calls_["stock"];
  time_.run_for(10s);
  EXPECT_EQ(calls_["stock"], before);
}

}  // namespace
}  // namespace holdfast::zookeeper
