// SPDX-License-Identifier: Apache-2.0
// What a client of a cluster does where the system, or a server, does not do its part.

#include <algorithm>
#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>
#include <variant>

#include "holdfast/error.hpp"
#include "runtime/event_loop.hpp"
#include "stores/redis/link/cluster/cluster_link.hpp"
#include "stores/redis/link/wire.hpp"
#include "support/request_form.hpp"
#include "unit/no_threads.hpp"

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using outcome = tickets::link::outcome;

tickets::request inspection_of(const std::string& name) {
  test::request_form r;
  r.kind = test::task::inspect;
  r.name = name;
  return r;
}

// ---- cluster_link

class redis_cluster_link : public testing::Test {
 protected:
  static settings unreachable() {
    settings s;
    s.cluster = {{"127.0.0.1", "1"}, {"127.0.0.1", "2"}};
    return s;
  }
  std::future<outcome> send(tickets::request r) {
    auto promise = std::make_shared<std::promise<outcome>>();
    auto coming = promise->get_future();
    {
      const runtime::core_lock now{loop_};
      link_.send(std::move(r), [promise](outcome o) { promise->set_value(std::move(o)); });
    }
    return coming;
  }
  static store::request_error error_in(std::future<outcome>& coming) {
    if (coming.wait_for(30s) != std::future_status::ready) {
      ADD_FAILURE() << "there is no answer";
      return {};
    }
    return std::get<store::request_error>(coming.get());
  }

  runtime::event_loop loop_;
  cluster_link link_{loop_, unreachable()};
};

TEST_F(redis_cluster_link, says_of_each_node_why_it_cannot_be_asked) {
  auto first = send(inspection_of("a"));
  auto second = send(inspection_of("b"));
  for (auto* each : {&first, &second}) {
    const auto error = error_in(*each);
    EXPECT_EQ(error.reason.code, errc::unavailable);
    EXPECT_TRUE(error.retryable);
    EXPECT_FALSE(error.maybe_executed);
    EXPECT_THAT(error.reason.message, testing::AllOf(HasSubstr("127.0.0.1:1"), HasSubstr("127.0.0.1:2")));
  }
}

TEST_F(redis_cluster_link, has_one_request_for_names_of_one_slot) {
  EXPECT_TRUE(link_.joins({}));
  EXPECT_TRUE(link_.joins({"{stock}a", "{stock}b"}));
  EXPECT_FALSE(link_.joins({"a", "b"}));
}

TEST_F(redis_cluster_link, answers_a_listing_that_cannot_begin) {
  test::request_form r;
  r.kind = test::task::list;
  auto listing = send(std::move(r));
  EXPECT_TRUE(error_in(listing).retryable);
}

TEST_F(redis_cluster_link, answers_where_the_system_has_no_thread) {
  {
    const test::no_threads none;
    auto first = send(inspection_of("a"));
    const auto error = error_in(first);
    EXPECT_EQ(error.reason.code, errc::exhausted);
    EXPECT_TRUE(error.retryable);
  }
  auto second = send(inspection_of("b"));
  EXPECT_EQ(error_in(second).reason.code, errc::unavailable) << "it tries to connect by now";
}

TEST_F(redis_cluster_link, may_end_while_it_connects) {
  auto unanswered = send(inspection_of("a"));
  link_.shut();
  link_.shut();
}

// ---- cluster_listing

TEST(redis_cluster_listing, has_the_names_that_have_moved) {
  cluster_listing names;
  names.moved = {"a", "b", "c"};
  lock_summary one;
  one.name = "a";
  EXPECT_TRUE(names.take_moved(tickets::reply{std::vector<lock_summary>{one}}));
  EXPECT_TRUE(names.take_moved(tickets::reply{std::vector<lock_summary>{}})) << "it is idle, or no lock";
  EXPECT_FALSE(names.take_moved(store::request_error{{errc::unavailable, "no"}, false, false}));
  EXPECT_THAT(names.moved, ElementsAre("c"));
  ASSERT_EQ(names.summaries().size(), 1U);
  EXPECT_EQ(names.summaries()[0].name, "a");
}

// ---- wire

/// A stream to nowhere.
class null_stream final : public stream {
 public:
  ~null_stream() override { ::close(descriptor_); }
  std::size_t read_some(char* /*to*/, std::size_t /*room*/) override { return 0; }
  std::size_t write_some(std::string_view bytes) override { return bytes.size(); }
  [[nodiscard]] int descriptor() const override { return descriptor_; }

 private:
  int descriptor_ = ::eventfd(0, EFD_CLOEXEC);
};

class redis_cluster_wire : public testing::Test {
 protected:
  static connection established() {
    connection c;
    c.stream = std::make_unique<null_stream>();
    return c;
  }
  static value moved() { return {value::kind::error, 0, "MOVED 7 10.0.0.2:7002", {}}; }
  static value granting() { return {value::kind::list, 0, {}, {value{value::kind::number, 0, {}, {}}}}; }
  void ask() {
    ASSERT_TRUE(wire_.needs_ping());
    pending_command ping;
    ping.is_ping = true;
    wire_.put(ping);
    EXPECT_EQ(wire_.depth(), 0U) << "the answer may forbid what is queued";
  }

  dialect in_;
  guard_marker marker_;
  wire wire_{established(), false, in_, marker_};
};

TEST_F(redis_cluster_wire, asks_again_at_once_where_the_marker_has_moved) {
  ask();
  wire_.hear_ping(moved(), true);
  EXPECT_EQ(wire_.depth(), 0U);
  ask();
  wire_.hear_ping(granting(), false);
  EXPECT_FALSE(wire_.needs_ping());
  EXPECT_GT(wire_.depth(), 0U);
}

TEST_F(redis_cluster_wire, asks_nothing_of_a_server_without_slots) {
  marker_.move_to(std::nullopt);
  EXPECT_FALSE(wire_.needs_ping());
  EXPECT_GT(wire_.depth(), 0U);
}

// Requests are queued meanwhile.
TEST_F(redis_cluster_wire, does_not_ask_for_ever) {
  unsigned questions = 0;
  const auto ask_on = [&] {
    for (; questions < 100'000; ++questions) {
      ask();
      wire_.hear_ping(moved(), true);
    }
  };
  EXPECT_THROW(ask_on(), connection_error);
  EXPECT_EQ(questions, 100U);
}

TEST_F(redis_cluster_wire, is_of_no_use_where_the_marker_has_no_other_place) {
  ask();
  EXPECT_THROW(wire_.hear_ping(moved(), false), connection_error);
}

}  // namespace
}  // namespace holdfast::redis
