// SPDX-License-Identifier: Apache-2.0
// `holdfast serve`: its stream of events.

#include <csignal>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <map>
#include <set>

#include "cli/serve/fixture.hpp"
#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

namespace holdfast::test {
namespace {

class serve_streams : public serve_test {};

TEST_F(serve_streams, begin_with_a_snapshot_and_go_on_with_changes) {
  const auto first = start_holder("first");
  serve();
  ASSERT_TRUE(eventually([&] { return !listed("first").is_null(); }));
  auto stream = open_stream();
  const auto snapshot = next_event(stream, "snapshot");
  EXPECT_EQ(snapshot["total"], 1);
  EXPECT_EQ(snapshot["locks"][0]["name"], "first");
  EXPECT_TRUE(next_event(stream, "status")["error"].is_null());
  const auto second = start_holder("second");
  auto change = next_event(stream, "change");
  while (change.is_object() && change["changed"].empty()) change = next_event(stream, "change");
  EXPECT_GT(change["revision"], snapshot["revision"]);
  EXPECT_EQ(change["changed"][0]["name"], "second");
  EXPECT_EQ(change["total"], 2);
  first->signal(SIGTERM);
  change = next_event(stream, "change");
  while (change.is_object() && change["removed"].empty()) change = next_event(stream, "change");
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
  apply(next_event(stream, "snapshot"));
  client locks{store()};
  std::vector<lease> held;
  for (int i = 0; i < 30; ++i) {
    held.push_back(mutex{locks, fmt::format("lock-{}", i)}.acquire());
    if (i % 3 == 0) held.erase(held.begin());
  }
  ASSERT_TRUE(eventually([&] { return get_json("/api/locks")["total"] == 20; }));
  const auto all = get_json("/api/locks");
  while (revision < all["revision"]) {
    const auto event = next_event(stream, "change");
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

TEST_F(serve_streams, are_shared_by_the_addresses_that_ask_for_them) {
  serve();
  std::vector<connection> streams;
  for (int i = 0; i < 32; ++i) streams.push_back(open_stream());
  const auto status_from = [&](std::uint32_t address) {
    connection& one = streams.emplace_back(port(), 0, address);
    one.send("GET /api/events HTTP/1.1\r\nHost: " + authority() + "\r\n\r\n");
    return read_reply(one, false).status;
  };
  for (int i = 0; i < 16; ++i) EXPECT_EQ(status_from(0x7f000002), 200) << i;
  EXPECT_EQ(status_from(0x7f000002), 503) << "it has as many as the other";
  EXPECT_EQ(status_from(0x7f000001), 503) << "nobody takes them in turn";
  EXPECT_EQ(status_from(0x7f000003), 200);
}

}  // namespace
}  // namespace holdfast::test
