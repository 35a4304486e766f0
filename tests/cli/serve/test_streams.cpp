// `holdfast serve`: its stream of events, slow readers, many locks.

#include <chrono>
#include <csignal>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <set>

#include "cli/serve/fixture.hpp"
#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

namespace holdfast::test {
namespace {

class serve_streams : public serve_test {
 protected:
  /// Reads until an event of this kind, or the end of the stream.
  static json next(connection& stream, const std::string& kind) {
    while (true) {
      const auto event = read_event(stream);
      if (event.kind == kind) return json::parse(event.data);
      if (event.kind.empty()) {
        ADD_FAILURE() << "the stream ended before an event of the kind " << kind;
        return nullptr;
      }
    }
  }
  /// Thousands of leases whose renewals keep the store busy would be another test.
  const client_options long_leases = client_options{}.locks(lock_options{}.ttl(std::chrono::hours{1}));
};

TEST_F(serve_streams, begin_with_a_snapshot_and_go_on_with_changes) {
  const auto first = start_holder("first");
  serve();
  ASSERT_TRUE(eventually([&] { return !listed("first").is_null(); }));
  auto stream = open_stream();
  const auto snapshot = next(stream, "snapshot");
  EXPECT_EQ(snapshot["total"], 1);
  EXPECT_EQ(snapshot["locks"][0]["name"], "first");
  EXPECT_TRUE(next(stream, "status")["error"].is_null());
  const auto second = start_holder("second");
  auto change = next(stream, "change");
  while (change.is_object() && change["changed"].empty()) change = next(stream, "change");
  EXPECT_GT(change["revision"], snapshot["revision"]);
  EXPECT_EQ(change["changed"][0]["name"], "second");
  EXPECT_EQ(change["total"], 2);
  first->signal(SIGTERM);
  change = next(stream, "change");
  while (change.is_object() && change["removed"].empty()) change = next(stream, "change");
  EXPECT_EQ(change["removed"], json::array({"first"}));
}

TEST_F(serve_streams, make_up_the_listing_from_the_changes) {
  serve();
  auto stream = open_stream();
  std::map<std::string, json> seen;
  std::uint64_t revision = 0;
  const auto apply = [&](const json& event) {
    if (event.contains("locks")) seen.clear();
    for (const auto& row : event.contains("locks") ? event["locks"] : event["changed"])
      seen[row["name"]] = row;
    if (event.contains("removed")) {
      for (const auto& name : event["removed"]) seen.erase(name);
    }
    revision = event["revision"];
  };
  apply(next(stream, "snapshot"));
  client locks{store()};
  std::vector<lease> held;
  for (int i = 0; i < 30; ++i) {
    held.push_back(mutex{locks, fmt::format("lock-{}", i)}.acquire());
    if (i % 3 == 0) held.erase(held.begin());
  }
  ASSERT_TRUE(eventually([&] { return get_json("/api/locks")["total"] == 20; }));
  const auto all = get_json("/api/locks");
  while (revision < all["revision"]) {
    const auto event = next(stream, "change");
    ASSERT_TRUE(event.is_object());
    EXPECT_EQ(event["revision"], revision + 1) << "one after the other";
    apply(event);
  }
  std::set<std::string> names;
  for (const auto& row : all["locks"]) names.insert(row["name"]);
  EXPECT_EQ(names.size(), 20U);
  for (const auto& [name, row] : seen) EXPECT_TRUE(names.contains(name)) << name;
  EXPECT_EQ(seen.size(), names.size());
}

TEST_F(serve_streams, of_a_reader_that_stands_still_hold_up_nobody_and_make_no_backlog) {
  client locks{store(), long_leases};
  std::vector<lease> held;
  // More than the kernel takes for somebody.
  const std::string padding(400, 'n');
  for (int i = 0; i < 2000; ++i) held.push_back(mutex{locks, fmt::format("{}-{}", padding, i)}.acquire());
  serve();
  ASSERT_TRUE(eventually([&] { return metric("holdfast_locks_held", "other") == 2000; }));
  auto stalled = open_stream(1);
  auto other = open_stream();
  ASSERT_EQ(next(other, "snapshot")["total"], 2000);
  std::uint64_t last = 0;
  for (int i = 0; i < 18; ++i) {  // more than are kept for those who are behind
    held.push_back(mutex{locks, fmt::format("new-{}", i)}.acquire());
    const auto change = next(other, "change");
    ASSERT_TRUE(change.is_object());
    last = change["revision"];
  }
  EXPECT_EQ(get("/healthz").status, 200);
  EXPECT_EQ(next(stalled, "snapshot")["total"], 2000) << "what was on its way already";
  auto event = read_event(stalled);
  while (event.kind == "status") event = read_event(stalled);
  ASSERT_EQ(event.kind, "snapshot") << "in place of the changes that it missed";
  EXPECT_GE(json::parse(event.data)["revision"], last);
  EXPECT_EQ(json::parse(event.data)["total"], 2018);
}

TEST_F(serve_streams, are_bounded_in_number_and_leave_room_for_requests) {
  serve();
  std::vector<connection> streams;
  for (int i = 0; i < 32; ++i) streams.push_back(open_stream());
  EXPECT_EQ(get("/api/events").status, 503);
  EXPECT_EQ(get("/healthz").status, 200);
  streams.pop_back();
  EXPECT_TRUE(eventually([&] {
    connection one{port()};
    one.send("GET /api/events HTTP/1.1\r\nHost: " + authority() + "\r\n\r\n");
    return read_reply(one, false).status == 200;
  }));
  server().signal(SIGTERM);
  EXPECT_EQ(server().wait().status, 0) << "with streams that are open";
  EXPECT_TRUE(streams.front().is_ended());
}

TEST_F(serve_streams, have_ten_thousand_locks_and_little_for_a_change) {
  client locks{store(), long_leases};
  std::vector<lease> held;
  held.reserve(10'000);
  for (int i = 0; i < 10'000; ++i) held.push_back(mutex{locks, fmt::format("jobs/{}", i)}.acquire());
  serve();
  ASSERT_TRUE(eventually([&] { return get_json("/api/locks")["total"] == 10'000; }));
  EXPECT_EQ(metric("holdfast_locks_held", "jobs"), 10'000);
  auto stream = open_stream();
  EXPECT_EQ(next(stream, "snapshot")["locks"].size(), 10'000U);
  held.pop_back();
  while (true) {
    const auto event = read_event(stream);
    ASSERT_FALSE(event.kind.empty());
    if (event.kind != "change") continue;
    if (json::parse(event.data)["removed"].empty()) continue;
    EXPECT_LT(event.data.size(), 1000U) << "only what has changed";
    break;
  }
}

}  // namespace
}  // namespace holdfast::test
