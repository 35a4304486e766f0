// A connection that has to be given up where there is no memory to do so.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <future>
#include <gtest/gtest.h>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/connection_reader.hpp"
#include "runtime/event_loop.hpp"
#include "unit/failing_allocations.hpp"
#include "unit/line_server.hpp"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class connection_reader_out_of_memory : public testing::Test {
 protected:
  [[nodiscard]] static std::future<line_outcome> begin(line_node& node, std::string text) {
    auto outcome = std::make_shared<std::promise<line_outcome>>();
    auto coming = outcome->get_future();
    node.send(std::move(text), [outcome](line_outcome o) { outcome->set_value(std::move(o)); });
    return coming;
  }
  /// \return what the caller hears: a reply, "unknown" or "not sent"; "nothing" where it hears nothing.
  [[nodiscard]] static std::string gist(std::future<line_outcome>& coming) {
    if (coming.wait_for(30s) != std::future_status::ready) return "nothing";
    try {
      const line_outcome o = coming.get();
      if (const auto* const reply = std::get_if<std::string>(&o)) return *reply;
      return std::get<store::request_error>(o).maybe_executed ? "unknown" : "not sent";
    } catch (const std::future_error&) {
      return "nothing";  // the handler was destroyed
    }
  }
  [[nodiscard]] static bool is_answered_again(line_node& node) {
    return comes_true([&] { return std::holds_alternative<std::string>(node.ask("again")); });
  }
  [[nodiscard]] std::unique_ptr<line_node> connect(std::chrono::milliseconds limit = 30s) {
    return std::make_unique<line_node>(loop_, reader_, server_, limit);
  }

  runtime::event_loop loop_;
  line_server server_;
  runtime::connection_reader reader_;
};

// Otherwise the next reply would be taken for the one that was lost: one caller would believe the grant of
// another.
TEST_F(connection_reader_out_of_memory, a_reply_that_is_lost_is_not_replaced_by_the_next_one) {
  std::atomic<bool> is_armed = false;
  std::atomic<bool> is_lost = false;
  std::atomic<bool> fails_to_disconnect = false;
  const auto node = connect();
  node->on_lines([&] {
    if (!is_armed.exchange(false)) return;
    fails_to_disconnect = true;
    is_lost = true;
    throw std::bad_alloc{};
  });
  node->on_place([&] {
    if (fails_to_disconnect.exchange(false)) throw std::bad_alloc{};
  });
  ASSERT_TRUE(is_answered_again(*node));
  is_armed = true;
  auto first = begin(*node, "first");
  ASSERT_TRUE(comes_true([&] { return is_lost.load(); }));
  auto second = begin(*node, "second");
  EXPECT_EQ(gist(first), "unknown");
  EXPECT_NE(gist(second), "nothing");
  EXPECT_TRUE(is_answered_again(*node));
}

TEST_F(connection_reader_out_of_memory, a_connection_that_cannot_be_given_up_is_given_up_soon) {
  std::atomic<int> failures = 0;
  const auto node = connect(200ms);
  node->on_place([&] {
    if (failures > 0 && failures-- > 0) throw std::bad_alloc{};
  });
  ASSERT_TRUE(is_answered_again(*node));
  server_.mute(true);
  failures = 5;
  auto lost = begin(*node, "lost");
  ASSERT_NE(gist(lost), "nothing");
  server_.mute(false);
  EXPECT_TRUE(is_answered_again(*node));
}

TEST_F(connection_reader_out_of_memory, each_request_fails_wherever_the_memory_ends) {
  std::atomic<bool> is_armed = false;
  std::size_t which = 0;
  const auto node = connect();
  node->on_place([&] {
    static thread_local std::optional<failing_allocation> plan;  // of the thread that reads
    plan.reset();
    if (is_armed.exchange(false)) plan.emplace(which);
  });
  ASSERT_TRUE(is_answered_again(*node));
  for (; which < 12; ++which) {
    server_.mute(true);
    std::vector<std::future<line_outcome>> lost;
    const auto before = server_.requests();
    for (int i = 0; i < 3; ++i) lost.push_back(begin(*node, "lost"));
    ASSERT_TRUE(comes_true([&] { return server_.requests() == before + lost.size(); }));
    is_armed = true;
    server_.disconnect();
    for (auto& each : lost) ASSERT_EQ(gist(each), "unknown") << "without allocation " << which;
    server_.mute(false);
    ASSERT_TRUE(is_answered_again(*node));
  }
}

}  // namespace
}  // namespace holdfast::test
