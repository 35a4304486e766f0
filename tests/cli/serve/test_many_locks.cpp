// SPDX-License-Identifier: Apache-2.0
// `holdfast serve` with thousands of locks, for readers that are slow or not.

#include <chrono>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "cli/serve/fixture.hpp"
#include "support/redis_server.hpp"
#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

namespace holdfast::test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

class serve_many_locks : public serve_test {
 protected:
  void hold(std::size_t count, const std::string& prefix) {
    held_.reserve(held_.size() + count);
    for (std::size_t i = 0; i < count; ++i)
      held_.push_back(mutex{locks_, fmt::format("{}/{}", prefix, i)}.acquire());
  }
  /// Reads until an event tells that there are so many locks now; false: the stream has ended before.
  static bool reaches(connection& stream, std::size_t total) {
    while (true) {
      const auto event = read_event(stream);
      if (event.kind.empty()) return false;
      if (event.kind != "status" && json::parse(event.data)["total"] == total) return true;
    }
  }

  /// What the server has in memory, in bytes.
  [[nodiscard]] std::size_t memory() {
    const auto status = contents("/proc/" + std::to_string(server().pid()) + "/status");
    const auto at = status.find("VmRSS:");
    EXPECT_NE(at, std::string::npos);
    return std::stoul(status.substr(at + 6)) << 10;
  }

  redis_server redis_;
  // Thousands of leases whose renewals keep the store busy would be another test.
  client locks_{redis_.url(), client_options{}.locks(lock_options{}.ttl(std::chrono::hours{1}))};
  std::vector<lease> held_;
};

TEST_F(serve_many_locks, hold_up_nobody_through_a_reader_that_stands_still) {
  // More than the kernel takes for somebody, and than is kept for those who are behind.
  hold(3000, std::string(400, 'n'));
  serve({"--store", redis_.url()});
  ASSERT_TRUE(eventually([&] { return metric("holdfast_locks_held", "other") == 3000; }));
  auto stalled = open_stream(1);
  auto other = open_stream();
  ASSERT_EQ(next_event(other, "snapshot")["total"], 3000);
  held_.clear();
  ASSERT_TRUE(reaches(other, 0));
  EXPECT_EQ(get("/healthz").status, 200);
  EXPECT_EQ(next_event(stalled, "snapshot")["total"], 3000) << "what was on its way already";
  auto event = read_event(stalled);
  while (event.kind == "status") event = read_event(stalled);
  ASSERT_EQ(event.kind, "snapshot") << "in place of the changes that it missed";
  EXPECT_EQ(json::parse(event.data)["total"], 0);
}

TEST_F(serve_many_locks, take_no_more_memory_for_many_slow_readers_than_for_one) {
  hold(3000, std::string(400, 'n'));
  serve({"--store", redis_.url(), "--interval", "1h"});  // so that all readers get the same listing
  const auto size = get("/api/locks").body.size();
  ASSERT_GT(size, 1U << 20) << "more than the kernel takes for a client";
  std::vector<connection> slow;
  const auto read_slowly = [&] {
    slow.push_back(open_stream(1));
    EXPECT_THAT(slow.back().read_until("event: snapshot"), EndsWith("event: snapshot"));
    if (slow.size() > 50) return;
    slow.emplace_back(port(), 1);
    slow.back().send("GET /api/locks HTTP/1.1\r\nHost: " + authority() + "\r\n\r\n");
    EXPECT_THAT(slow.back().read_until("\r\n\r\n"), HasSubstr("200 OK"));
  };
  read_slowly();
  const auto before = memory();
  while (slow.size() < 57) read_slowly();
  EXPECT_LT(memory(), before + 2 * size) << "each with a listing of its own, there would be 57";
  EXPECT_EQ(get("/healthz").status, 200);
}

TEST_F(serve_many_locks, cost_a_stream_no_more_than_what_changes) {
  hold(10'000, "jobs");
  serve({"--store", redis_.url()});
  ASSERT_TRUE(eventually([&] { return metric("holdfast_locks_held", "jobs") == 10'000; }));
  EXPECT_EQ(get_json("/api/locks")["locks"].size(), 10'000U);
  auto stream = open_stream();
  EXPECT_EQ(next_event(stream, "snapshot")["locks"].size(), 10'000U);
  held_.pop_back();
  auto change = next_event(stream, "change");
  while (change.is_object() && change["removed"].empty()) change = next_event(stream, "change");
  EXPECT_EQ(change["removed"].size(), 1U);
  EXPECT_EQ(change["total"], 9'999);
  EXPECT_LT(change["changed"].size(), 10U) << "only what has changed";
}

}  // namespace
}  // namespace holdfast::test
