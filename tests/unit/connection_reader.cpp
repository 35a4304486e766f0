// SPDX-License-Identifier: Apache-2.0
#include "runtime/connection_reader.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <future>
#include <gtest/gtest.h>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/event_loop.hpp"
#include "unit/line_server.hpp"
#include "unit/no_threads.hpp"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class connection_reader : public testing::Test {
 protected:
  static constexpr std::size_t servers = 8;

  [[nodiscard]] std::unique_ptr<line_node> connect(std::size_t server,
                                                   std::chrono::milliseconds limit = 30s) {
    return std::make_unique<line_node>(loop_, reader_, servers_.at(server), limit);
  }
  [[nodiscard]] std::vector<std::unique_ptr<line_node>> connect_all() {
    std::vector<std::unique_ptr<line_node>> all;
    for (std::size_t i = 0; i < servers; ++i) all.push_back(connect(i));
    return all;
  }
  [[nodiscard]] static bool is_answered(line_node& node, const std::string& text = "a") {
    const line_outcome reply = node.ask(text);
    const auto* const answer = std::get_if<std::string>(&reply);
    return answer != nullptr && *answer == text;
  }
  /// Begins a request. \return its outcome.
  [[nodiscard]] static std::future<line_outcome> begin(line_node& node) {
    auto outcome = std::make_shared<std::promise<line_outcome>>();
    auto coming = outcome->get_future();
    node.send("a", [outcome](line_outcome o) { outcome->set_value(std::move(o)); });
    return coming;
  }
  [[nodiscard]] static bool fails(std::future<line_outcome>& coming) {
    return coming.wait_for(30s) == std::future_status::ready &&
           std::holds_alternative<store::request_error>(coming.get());
  }
  /// A request fails at once while the connection is known to be broken.
  [[nodiscard]] static bool is_answered_again(line_node& node) {
    return comes_true([&] { return is_answered(node); });
  }
  /// A thread that is blocked until its request, which has been sent, fails.
  [[nodiscard]] std::jthread block(line_node& node, line_server& server) {
    server.mute(true);
    const auto before = server.requests();
    std::jthread blocked{
        [&node] { EXPECT_TRUE(std::holds_alternative<store::request_error>(node.ask("a"))); }};
    EXPECT_TRUE(comes_true([&] { return server.requests() != before; }));
    return blocked;
  }
  [[nodiscard]] static std::ptrdiff_t threads() {
    return std::distance(std::filesystem::directory_iterator{"/proc/self/task"},
                         std::filesystem::directory_iterator{});
  }

  runtime::event_loop loop_;
  std::array<line_server, servers> servers_;
  runtime::connection_reader reader_;
};

TEST_F(connection_reader, serves_any_number_of_connections_with_one_thread) {
  const auto before = threads();
  {
    const auto one = connect(0);
    EXPECT_TRUE(is_answered(*one));
    EXPECT_EQ(threads(), before + 1);
  }
  const auto all = connect_all();
  for (const auto& each : all) EXPECT_TRUE(is_answered(*each));
  EXPECT_TRUE(comes_true([&] { return threads() == before + 1; })) << threads() << " after " << before;
}

TEST_F(connection_reader, connects_a_single_connection_with_the_thread_that_reads) {
  const auto before = threads();
  servers_[0].shut();
  const auto one = connect(0);
  ASSERT_TRUE(comes_true([this] { return servers_[0].connects() == 1; }));
  EXPECT_EQ(threads(), before + 1);
  servers_[0].open();
  EXPECT_TRUE(is_answered(*one));
  EXPECT_EQ(threads(), before + 1);
}

TEST_F(connection_reader, connects_many_with_a_bounded_number_of_threads) {
  const auto before = threads();
  std::array<line_server, 3 * runtime::connection_reader::most_connecting> refusing;
  std::vector<std::unique_ptr<line_node>> refused;
  for (line_server& each : refusing) {
    each.refuse(true);
    refused.push_back(std::make_unique<line_node>(loop_, reader_, each, 30s));
  }
  const auto other = connect(0);
  EXPECT_TRUE(is_answered_again(*other)) << "those that cannot be reached hold it up";
  for (line_server& each : refusing)
    EXPECT_TRUE(comes_true([&] { return each.connects() >= 2; })) << "it has no turn";
  EXPECT_LE(threads(), before + 1 + std::ptrdiff_t{runtime::connection_reader::most_connecting});
  for (line_server& each : refusing) each.refuse(false);
  for (const auto& each : refused) EXPECT_TRUE(is_answered_again(*each));
  EXPECT_TRUE(comes_true([&] { return threads() == before + 1; })) << threads() << " after " << before;
}

TEST_F(connection_reader, reads_all_connections_in_the_background) {
  const auto all = connect_all();
  for (const auto& each : all) ASSERT_TRUE(is_answered(*each));
  for (line_server& each : servers_) each.notify();
  for (const auto& each : all) EXPECT_TRUE(comes_true([&] { return each->notified() == 1; }));
}

TEST_F(connection_reader, a_caller_waits_for_replies_of_several_connections) {
  const auto all = connect_all();
  for (int round = 0; round < 20; ++round) {
    const auto caller = std::make_shared<store::caller>();
    std::size_t due = all.size();  // under the core lock
    {
      const runtime::core_lock now{loop_, true};
      for (const auto& each : all) {
        each->push("a", [&due, caller](const line_outcome&) {
          if (--due == 0) caller->serve();
        });
      }
    }
    for (const auto& each : all) each->connection().flush();
    reader_.serve(*caller);
    EXPECT_EQ(due, 0U);
  }
}

// A caller that is blocked on one connection reads the others, too.
TEST_F(connection_reader, a_caller_reads_for_callers_of_other_connections) {
  const auto mute = connect(0);
  const auto other = connect(1);
  ASSERT_TRUE(is_answered(*mute));
  ASSERT_TRUE(is_answered(*other));
  const auto blocked = block(*mute, servers_[0]);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(is_answered(*other));
  servers_[0].disconnect();
}

TEST_F(connection_reader, leaves_a_few_requests_to_the_thread_that_reads_and_sends_many_at_once) {
  line_node node{loop_, reader_, servers_[0], 30s, 2};
  ASSERT_TRUE(is_answered_again(node));
  servers_[0].mute(true);
  const auto before = servers_[0].requests();
  std::vector<std::future<line_outcome>> all;
  for (int i = 0; i < 3; ++i) all.push_back(begin(node));
  ASSERT_TRUE(comes_true([&] { return reader_.is_reading() && servers_[0].requests() == before + 3; }));
  for (int i = 0; i < 2; ++i) all.push_back(begin(node));
  EXPECT_EQ(servers_[0].requests(), before + all.size()) << "the server would have nothing to do";
}

TEST_F(connection_reader, a_server_that_cannot_be_reached_holds_up_no_other) {
  const auto before = threads();
  for (std::size_t i : {0, 1}) servers_.at(i).shut();
  const auto all = connect_all();
  for (std::size_t i = 2; i < servers; ++i) EXPECT_TRUE(is_answered(*all[i]));
  EXPECT_TRUE(comes_true([&] { return threads() == before + 3; })) << "one reads, two connect";
  servers_[2].notify();  // nobody is blocked
  EXPECT_TRUE(comes_true([&] { return all[2]->notified() == 1; }));
  for (std::size_t i : {0, 1}) servers_.at(i).open();
  for (const auto& each : all) EXPECT_TRUE(is_answered(*each));
  EXPECT_TRUE(comes_true([&] { return threads() == before + 1; }));
}

TEST_F(connection_reader, a_connection_that_breaks_fails_its_own_requests) {
  const auto broken = connect(0);
  const auto other = connect(1);
  ASSERT_TRUE(is_answered(*broken));
  ASSERT_TRUE(is_answered(*other));
  for (std::size_t i : {0, 1}) servers_.at(i).mute(true);
  auto lost = begin(*broken);
  auto due = begin(*other);
  servers_[0].disconnect();
  EXPECT_TRUE(fails(lost));
  servers_[0].mute(false);
  EXPECT_TRUE(is_answered_again(*broken));
  EXPECT_EQ(due.wait_for(0s), std::future_status::timeout);
  EXPECT_EQ(servers_[1].connects(), 1U);
}

TEST_F(connection_reader, a_server_that_answers_nothing_is_given_up_alone) {
  const auto mute = connect(0, 200ms);
  const auto other = connect(1);
  ASSERT_TRUE(is_answered(*mute));
  servers_[0].mute(true);
  auto lost = begin(*mute);
  while (lost.wait_for(0s) != std::future_status::ready) ASSERT_TRUE(is_answered(*other));
  EXPECT_TRUE(fails(lost));
  EXPECT_EQ(servers_[1].connects(), 1U);
  servers_[0].mute(false);
  EXPECT_TRUE(is_answered_again(*mute));
}

TEST_F(connection_reader, connections_come_and_go_while_a_caller_is_blocked) {
  const auto mute = connect(0);
  ASSERT_TRUE(is_answered(*mute));
  const auto blocked = block(*mute, servers_[0]);
  for (int round = 0; round < 20; ++round) {
    const auto other = connect(1);
    EXPECT_TRUE(is_answered(*other));
  }
  mute->connection().close({{errc::unavailable, "removed"}});
}

TEST_F(connection_reader, requests_of_a_closed_connection_fail) {
  const auto closed = connect(0);
  const auto other = connect(1);
  ASSERT_TRUE(is_answered(*closed));
  servers_[0].mute(true);
  auto lost = begin(*closed);
  closed->connection().close({{errc::unavailable, "removed"}});
  EXPECT_TRUE(fails(lost));
  auto late = begin(*closed);
  EXPECT_TRUE(fails(late));
  EXPECT_TRUE(is_answered(*other));
}

// A node of a cluster that is left while it is being connected: its requests go to another one.
TEST_F(connection_reader,
       requests_of_a_connection_that_is_closed_while_it_is_being_connected_may_be_tried_again) {
  servers_[0].shut();
  const auto closed = connect(0);
  ASSERT_TRUE(comes_true([this] { return servers_[0].connects() == 1; }));
  auto queued = begin(*closed);
  closed->connection().close({{errc::unavailable, "removed"}});
  ASSERT_EQ(queued.wait_for(30s), std::future_status::ready);
  const line_outcome outcome = queued.get();
  const auto* const failed = std::get_if<store::request_error>(&outcome);
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(failed->reason.code, errc::unavailable);
  EXPECT_EQ(failed->reason.message, "server: removed");
  EXPECT_TRUE(failed->retryable);
  EXPECT_FALSE(failed->maybe_executed);
}

// Without a connection, blocked callers cannot read any more.
TEST_F(connection_reader, the_last_connection_is_closed_under_several_blocked_callers) {
  for (int round = 0; round < 20; ++round) {
    const auto last = connect(0);
    servers_[0].mute(false);
    ASSERT_TRUE(is_answered(*last));
    std::vector<std::jthread> blocked;
    for (int i = 0; i < 4; ++i) blocked.push_back(block(*last, servers_[0]));
    last->connection().close({{errc::unavailable, "removed"}});
  }
}

TEST_F(connection_reader, a_connection_that_is_being_connected_is_removed) {
  const auto other = connect(1);
  servers_[0].shut();
  {
    const auto removed = connect(0);
    ASSERT_TRUE(comes_true([this] { return servers_[0].connects() == 1; }));
  }
  EXPECT_TRUE(is_answered(*other));
}

TEST_F(connection_reader, the_thread_that_reads_removes_and_adds_connections) {
  const auto all = connect_all();
  for (const auto& each : all) ASSERT_TRUE(is_answered(*each));
  std::unique_ptr<line_node> added;
  std::promise<void> changed;
  all[0]->on_read([&] {
    if (added) return;
    all[1]->connection().stop();
    all[7]->connection().close({{errc::unavailable, "removed"}});
    added = connect(1);
    changed.set_value();
  });
  for (line_server& each : servers_) each.notify();
  ASSERT_EQ(changed.get_future().wait_for(30s), std::future_status::ready);
  EXPECT_TRUE(is_answered(*added));
  for (std::size_t i = 2; i < 7; ++i) EXPECT_TRUE(is_answered(*all[i]));
}

TEST_F(connection_reader, connects_again_where_the_system_has_no_thread) {
  const auto broken = connect(0);
  const auto other = connect(1);
  ASSERT_TRUE(is_answered(*broken));
  ASSERT_TRUE(is_answered(*other));
  const no_threads none;
  servers_[0].disconnect();
  EXPECT_TRUE(is_answered_again(*broken));
  EXPECT_TRUE(is_answered(*other));
}

/// Callers of all connections, servers that break and come back, and connections that come and go.
class reader_schedule : public connection_reader {
 protected:
  void run(unsigned seed) {
    std::atomic<bool> over = false;
    const auto all = connect_all();
    {
      std::vector<std::jthread> callers;
      for (unsigned i = 0; i < 4; ++i) {
        callers.emplace_back([&, random = std::mt19937{seed * 4 + i}]() mutable {
          for (int round = 0; round < 200; ++round) call(*all[random() % servers], random());
        });
      }
      const std::jthread breaks{[&, random = std::mt19937{seed}]() mutable {
        while (!over) {
          servers_.at(random() % 2).disconnect();  // the others never break
          line_node comes_and_goes{loop_, reader_, extra_};
          if (random() % 2 == 0) {
            EXPECT_TRUE(is_answered(comes_and_goes));
          }
        }
      }};
      callers.clear();
      over = true;
    }
    for (std::size_t i = 2; i < servers; ++i) EXPECT_EQ(servers_.at(i).connects(), 1U);
    for (const auto& each : all) EXPECT_TRUE(is_answered_again(*each));
    // It is stopped while requests are in flight, and while it connects.
    for (const auto& each : all) {
      each->send("b", [](const line_outcome&) {});
      if (seed % 2 == 0) servers_[0].disconnect();
    }
    reader_.stop();
  }

 private:
  line_server extra_;

  void call(line_node& node, unsigned random) {
    const std::string text = std::to_string(random);
    const line_outcome reply = node.ask(text);
    if (const auto* const answer = std::get_if<std::string>(&reply)) {
      EXPECT_EQ(*answer, text);
    } else {
      EXPECT_EQ(std::get<store::request_error>(reply).reason.code, errc::unavailable);
    }
  }
};

TEST_F(reader_schedule, every_caller_is_served_0) { run(0); }
TEST_F(reader_schedule, every_caller_is_served_1) { run(1); }
TEST_F(reader_schedule, every_caller_is_served_2) { run(2); }
TEST_F(reader_schedule, every_caller_is_served_3) { run(3); }

}  // namespace
}  // namespace holdfast::test
