// SPDX-License-Identifier: Apache-2.0
// `holdfast serve`: what it says of locks, and how it begins and ends.

#include <csignal>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "cli/serve/fixture.hpp"
#include "support/reserved_port.hpp"
#include <holdfast/client.hpp>

namespace holdfast::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class serve_answers : public serve_test {};

TEST_F(serve_answers, says_where_it_listens_and_ends_with_0_after_a_signal) {
  for (const int number : {SIGTERM, SIGINT}) {
    serve();
    EXPECT_EQ(server().out(), fmt::format("listening on http://127.0.0.1:{}\n", port()));
    server().signal(number);
    const auto said = server().wait();
    EXPECT_EQ(said.status, 0);
    EXPECT_EQ(said.err, "");
  }
  serve({"--json"});
  EXPECT_EQ(json::parse(server().out())["listening"], "http://" + authority());
}

TEST_F(serve_answers, ends_with_the_number_of_a_second_signal) {
  serve();
  server().signal(SIGSTOP);
  server().signal(SIGINT);
  server().signal(SIGTERM);
  server().signal(SIGCONT);
  const auto status = server().wait().status;
  EXPECT_TRUE(status == 128 + SIGINT || status == 128 + SIGTERM) << status;
}

TEST_F(serve_answers, listens_on_ipv6_too) {
  const auto started = start({"serve", "--listen", "[::1]:0"});
  ASSERT_TRUE(eventually([&] { return started->out().ends_with('\n') || !started->running(); }));
  EXPECT_THAT(started->out(), StartsWith("listening on http://[::1]:"));
}

TEST_F(serve_answers, says_that_another_program_has_the_port) {
  serve();
  const auto second = holdfast({"serve", "--listen", authority()});
  EXPECT_EQ(second.status, 64);
  EXPECT_THAT(second.err, HasSubstr("another program listens on " + authority()));
}

TEST_F(serve_answers, has_the_holder_and_the_queue_of_a_lock_as_the_command_prints_them) {
  const auto holder = start_holder("jobs/night", {"--label", "nightly"});
  const auto waiter = start({"run", "jobs/night", "--", "true"});
  ASSERT_TRUE(waiters("jobs/night", 1));
  serve();
  ASSERT_TRUE(eventually([&] { return listed("jobs/night")["longest_wait_s"].is_number(); }));
  const auto listing = get_json("/api/locks");
  EXPECT_EQ(listing["total"], 1);
  const auto row = listing["locks"][0];
  const auto printed = parse_lines(holdfast({"ls", "--json"}).out)[0];
  for (const auto* member : {"name", "mode", "holders", "waiters", "last_token", "holder_token", "holder"})
    EXPECT_EQ(row[member], printed[member]) << member;
  EXPECT_GT(row["longest_wait_s"], 0.0);
  auto shown = get_json("/api/locks/jobs%2Fnight");
  auto expected = show("jobs/night");
  for (auto* each : {&shown, &expected}) {
    for (const auto* claims : {"holders", "waiters"}) {
      for (auto& claim : (*each)[claims]) {
        claim.erase("age_s");
        claim.erase("expires_in_s");
      }
    }
  }
  EXPECT_EQ(shown, expected);
  EXPECT_EQ(shown["holders"][0]["label"], "nightly");
}

TEST_F(serve_answers, counts_by_prefix_what_is_held_waited_for_and_handed_over) {
  serve();
  {
    const auto first = start_holder("jobs/night");
    const auto second = start_holder("jobs:day");
    const auto other = start_holder("plain");
    const auto waiter = start({"run", "jobs/night", "--", "sleep", "1000"});
    ASSERT_TRUE(waiters("jobs/night", 1));
    ASSERT_TRUE(eventually([&] {
      return metric("holdfast_locks_held", "jobs") == 2 && metric("holdfast_waiters", "jobs") == 1 &&
             metric("holdfast_longest_wait_seconds", "jobs") > 0.0;
    })) << get("/metrics").body;
    EXPECT_EQ(metric("holdfast_locks_held", "plain"), 1);
    EXPECT_GE(metric("holdfast_longest_hold_seconds", "jobs"),
              metric("holdfast_longest_wait_seconds", "jobs"));
    EXPECT_EQ(metric("holdfast_handovers_total", "jobs"), 2);
    EXPECT_EQ(metric("holdfast_store_up", ""), 1);
    first->signal(SIGTERM);
    EXPECT_TRUE(eventually([&] { return metric("holdfast_handovers_total", "jobs") == 3; }));
    EXPECT_TRUE(eventually([&] { return metric("holdfast_waiters", "jobs") == 0; }));
    for (auto* const each : {second.get(), other.get(), waiter.get()}) {
      each->signal(SIGTERM);  // they release; a lock of one that is killed stays for a ttl
      each->wait();
    }
  }
  EXPECT_TRUE(eventually([&] { return get_json("/api/locks")["total"] == 0; }));
  EXPECT_EQ(metric("holdfast_locks_held", "jobs"), 0);
  EXPECT_EQ(metric("holdfast_longest_hold_seconds", "jobs"), 0);
  EXPECT_EQ(metric("holdfast_handovers_total", "jobs"), 3) << "a counter does not fall";
}

TEST_F(serve_answers, keeps_the_hand_overs_of_a_name_with_their_holders) {
  serve();
  auto holder = start_holder("x", {"--label", "first"});
  ASSERT_TRUE(eventually([&] { return !listed("x").is_null(); }));
  holder->signal(SIGTERM);
  holder->wait();
  ASSERT_TRUE(eventually([&] { return listed("x").is_null(); }));
  holder = start_holder("x", {"--label", "second"});
  ASSERT_TRUE(eventually([&] { return !listed("x").is_null(); }));
  const auto events = get_json("/api/locks/x/timeline")["events"];
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0]["holder"]["label"], "first");
  EXPECT_GT(events[0]["began_ago_s"], events[0]["ended_ago_s"]);
  EXPECT_EQ(events[1]["holder"]["label"], "second");
  EXPECT_TRUE(events[1]["ended_ago_s"].is_null());
  EXPECT_EQ(events[1]["token"], show("x")["holders"][0]["token"]);
  EXPECT_EQ(get("/api/locks/never/timeline").status, 404);
}

TEST_F(serve_answers, counts_deadlocks_unasked) {
  serve();
  ASSERT_TRUE(eventually([&] { return metric("holdfast_deadlocks", "") == 0; })) << get("/metrics").body;
  const auto locks_then = [this](const std::string& name, const std::string& other) {
    return start_holder(
        name, {},
        "until [ -e $D/both ]; do sleep 0.05; done; exec " HOLDFAST_COMMAND " run " + other + " -- true");
  };
  const auto first = locks_then("a", "b");
  const auto second = locks_then("b", "a");
  write_file(file("both"), "");
  EXPECT_TRUE(eventually([&] { return metric("holdfast_deadlocks", "") == 1; })) << get("/metrics").body;
  EXPECT_EQ(get_json("/api/status")["deadlocks"], 1);
}

TEST_F(serve_answers, explains_chains_and_deadlocks_and_examines_the_store) {
  const auto holder = start_holder("a");
  serve();
  const auto chain = get_json("/api/why/a");
  EXPECT_EQ(chain["name"], "a");
  EXPECT_EQ(chain["chain"][0]["holders"].size(), 1U);
  auto deadlocks = get_json("/api/deadlocks");
  EXPECT_GT(deadlocks["taken_ago_s"], 0.0);
  deadlocks.erase("taken_ago_s");
  EXPECT_EQ(deadlocks, json::parse(holdfast({"why", "--all", "--json"}).out));
  const auto examined = get_json("/api/doctor");
  const auto printed = json::parse(holdfast({"doctor", "--json"}).out);
  EXPECT_EQ(examined["result"], printed["result"]);
  EXPECT_EQ(examined["findings"].size(), printed["findings"].size());
  const auto again = get_json("/api/doctor?fresh=1");
  EXPECT_GE(again["taken_ago_s"], examined["taken_ago_s"]) << "it was examined again at once";
}

TEST_F(serve_answers, reads_the_queues_once_for_many_who_ask) {
  const auto holder = start_holder("a");
  const auto waiter = start({"run", "a", "--", "true"});
  ASSERT_TRUE(waiters("a", 1));
  serve();
  // The ages of a hold are the same to the microsecond in one reading alone.
  const auto age = [&] { return get_json("/api/why/a")["chain"][0]["holders"][0]["age_s"]; };
  EXPECT_TRUE(eventually([&] {
    const auto first = age();
    for (int i = 0; i < 10; ++i) {
      if (age() != first) return false;
    }
    return true;
  }));
  const auto first = age();
  EXPECT_TRUE(eventually([&] { return age() != first; })) << "but not for ever";
  // A name that nobody waits for is read by itself.
  const auto other = start_holder("b");
  EXPECT_EQ(get_json("/api/why/b")["chain"][0]["holders"].size(), 1U);
}

TEST_F(serve_answers, tells_a_free_name_from_a_wrong_one) {
  serve();
  EXPECT_EQ(get("/api/locks/free").status, 404);
  const auto wrong = get("/api/locks/a%0Ab");
  EXPECT_EQ(wrong.status, 400);
  EXPECT_EQ(json::parse(wrong.body)["error"], "invalid_name");
  EXPECT_EQ(get("/api/locks/" + std::string(600, 'n')).status, 400);
  EXPECT_EQ(get("/api/locks/%ff%fe").status, 400);
  EXPECT_EQ(json::parse(get("/api/locks/%2").body)["error"], "invalid_target");
  EXPECT_EQ(get("/api/nothing").status, 404);
  EXPECT_EQ(get("/../../etc/passwd").status, 404);
}

TEST_F(serve_answers, gives_names_and_labels_to_nobody_as_markup) {
  const std::string name = "<img src=x onerror=alert(1)>\"\\\u202e&";
  const std::string label = "</script><script>alert(2)</script>\u2028";
  const auto holder = start_holder(name, {"--label", label});
  serve();
  const auto reply = get("/api/locks");
  for (const unsigned char each : reply.body) ASSERT_LT(each, 0x80) << "JSON is ASCII";
  EXPECT_EQ(reply.headers.at("content-type"), "application/json");
  EXPECT_EQ(json::parse(reply.body)["locks"][0]["name"], name);
  EXPECT_EQ(listed(name)["holder"]["label"], label);
  const auto metrics = get("/metrics");
  EXPECT_THAT(metrics.headers.at("content-type"), StartsWith("text/plain"));
  EXPECT_THAT(metrics.body, HasSubstr(R"(prefix="<img src=x onerror=alert(1)>\"\\\\u{202e}&"} 1)"))
      << metrics.body;
  for (const auto* path : {"/", "/app.css", "/app.js", "/favicon.svg", "/api/locks", "/metrics", "/no"}) {
    const auto headers = get(path).headers;
    EXPECT_THAT(headers.at("content-security-policy"), StartsWith("default-src 'none'; script-src 'self';"))
        << path;
    EXPECT_EQ(headers.at("x-content-type-options"), "nosniff") << path;
    EXPECT_EQ(headers.at("referrer-policy"), "no-referrer") << path;
    EXPECT_EQ(headers.at("cache-control"), "no-store") << path;
  }
  EXPECT_THAT(get("/").headers.at("content-type"), StartsWith("text/html"));
  EXPECT_THAT(get("/app.js").headers.at("content-type"), StartsWith("text/javascript"));
}

TEST_F(serve_answers, keeps_the_password_of_the_store_to_itself) {
  const reserved_port nobody;
  const auto url = fmt::format("redis://user:open-sesame@127.0.0.1:{}", nobody.number());
  serve({"--store", url});
  ASSERT_TRUE(eventually([&] { return !get_json("/api/status")["error"].is_null(); }));
  for (const auto* path : {"/api/status", "/api/locks", "/api/doctor", "/metrics", "/healthz", "/api/why/x"})
    EXPECT_THAT(get(path).body, Not(HasSubstr("open-sesame"))) << path;
  EXPECT_THAT(server().err(), Not(HasSubstr("open-sesame")));
}

TEST_F(serve_answers, head_and_several_requests_go_over_one_connection) {
  serve();
  connection to{port()};
  const auto host = "Host: " + authority() + "\r\n\r\n";
  to.send("HEAD /healthz HTTP/1.1\r\n" + host + "GET /healthz HTTP/1.1\r\n" + host);
  const auto head = read_reply(to, false);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("content-length"), "3");
  EXPECT_EQ(read_reply(to).body, "ok\n");
  to.send("GET /api/status HTTP/1.1\r\n" + host);
  EXPECT_EQ(read_reply(to).status, 200);
}

}  // namespace
}  // namespace holdfast::test
