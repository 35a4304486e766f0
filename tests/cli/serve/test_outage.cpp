// SPDX-License-Identifier: Apache-2.0
// `holdfast serve` while its store is gone, and after.

#include <csignal>
#include <filesystem>
#include <gmock/gmock.h>

#include "cli/serve/fixture.hpp"
#include "support/redis_server.hpp"
#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

namespace holdfast::test {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string secret = "0123456789abcdef0123456789abcdef";

class serve_outage : public serve_test {
 protected:
  /// It carries out changes for whoever knows the secret.
  void serve_with_releases(const std::string& store) {
    write_file(file("secret"), secret);
    std::filesystem::permissions(file("secret"), std::filesystem::perms::owner_read);
    serve({"--store", store, "--allow-release", "--secret-file", file("secret")});
  }
  [[nodiscard]] bool is_healthy() const { return get("/healthz").status == 200; }
  /// The same question on many connections, each of which waits for its reply.
  [[nodiscard]] std::vector<connection> ask_often(const std::string& path, int count) const {
    std::vector<connection> asking;
    for (int i = 0; i < count; ++i) {
      asking.emplace_back(port());
      asking.back().send("GET " + path + " HTTP/1.1\r\nHost: " + authority() + "\r\n\r\n");
    }
    return asking;
  }
};

TEST_F(serve_outage, of_the_store_is_told_and_over_by_itself) {
  redis_server redis;
  serve({"--store", redis.url()});
  ASSERT_TRUE(eventually([&] { return is_healthy(); }));
  auto stream = open_stream();
  redis.kill();
  ASSERT_TRUE(eventually([&] { return !is_healthy(); }));
  EXPECT_THAT(get("/healthz").body, HasSubstr("the store has not answered for "));
  EXPECT_EQ(metric("holdfast_store_up", ""), 0);
  EXPECT_FALSE(get_json("/api/status")["error"].is_null());
  EXPECT_EQ(get("/").status, 200) << "the page stays";
  EXPECT_EQ(get("/api/locks").status, 200) << "as it was at last";
  EXPECT_EQ(get("/api/locks/x").status, 503);
  redis.start();
  ASSERT_TRUE(eventually([&] { return is_healthy(); }));
  EXPECT_TRUE(eventually([&] { return get_json("/api/status")["error"].is_null(); }));
  EXPECT_EQ(metric("holdfast_store_up", ""), 1);
  client locks{redis.url()};
  const auto held = mutex{locks, "after"}.acquire();
  EXPECT_TRUE(eventually([&] { return !listed("after").is_null(); }));
  // The stream has told of all that, on the same connection.
  std::vector<bool> is_error;
  for (server_event event; is_error.size() < 3 || is_error.back();) {
    event = read_event(stream);
    ASSERT_FALSE(event.kind.empty());
    if (event.kind == "status") is_error.push_back(!json::parse(event.data)["error"].is_null());
  }
  EXPECT_FALSE(is_error.front());
}

/// For who reads the journal of the service.
TEST_F(serve_outage, has_a_line_with_its_cause_and_another_when_it_is_over) {
  redis_server redis;
  redis.kill();
  serve({"--store", redis.url()});
  const std::string began = "holdfast serve: cannot list the locks on " + redis.url();
  const std::string ended = "holdfast serve: the store answers again\n";
  ASSERT_TRUE(eventually([&] { return server().err().find(began) != std::string::npos; })) << server().err();
  EXPECT_THAT(server().err(), Not(HasSubstr(ended)));
  redis.start();
  ASSERT_TRUE(eventually([&] { return server().err().ends_with(ended); })) << server().err();
}

TEST_F(serve_outage, shows_as_soon_as_a_reading_fails) {
  redis_server redis;
  serve({"--store", redis.url(), "--interval", "5s"});
  ASSERT_TRUE(eventually([&] { return is_healthy(); }));
  redis.kill();
  // So it does long before the last answer is old: after three intervals.
  ASSERT_TRUE(eventually([&] { return !get_json("/api/status")["error"].is_null(); }));
  EXPECT_FALSE(is_healthy());
  EXPECT_EQ(metric("holdfast_store_up", ""), 0);
}

TEST_F(serve_outage, is_over_soon_whatever_the_interval) {
  redis_server redis;
  redis.kill();
  serve({"--store", redis.url(), "--interval", "1h"});
  EXPECT_FALSE(is_healthy());
  redis.start();
  EXPECT_TRUE(eventually([&] { return is_healthy(); }));
}

TEST_F(serve_outage, by_a_server_that_stands_still_delays_no_answer_and_no_end) {
  redis_server redis;
  serve({"--store", redis.url()});
  ASSERT_TRUE(eventually([&] { return is_healthy(); }));
  redis.stop();
  connection asking{port()};
  asking.send("GET /api/locks/x HTTP/1.1\r\nHost: " + authority() + "\r\n\r\n");
  connection examining{port()};
  examining.send("GET /api/doctor HTTP/1.1\r\nHost: " + authority() + "\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return !is_healthy(); }));
  EXPECT_EQ(get("/").status, 200);
  EXPECT_EQ(read_reply(asking).status, 503);
  server().signal(SIGTERM);
  EXPECT_EQ(server().wait().status, 0);
  redis.go_on();
}

TEST_F(serve_outage, holds_up_no_second_signal) {
  redis_server redis;
  serve({"--store", redis.url()});
  ASSERT_TRUE(eventually([&] { return is_healthy(); }));
  redis.stop();
  std::vector<connection> examining;
  for (int i = 0; i < 40; ++i) {
    examining.emplace_back(port());
    examining.back().send("GET /api/doctor HTTP/1.1\r\nHost: " + authority() + "\r\n\r\n");
  }
  ASSERT_EQ(read_reply(examining.back()).status, 503) << "the doctor is with the first";
  server().signal(SIGTERM);
  EXPECT_TRUE(examining.front().is_ended()) << "the end has begun";
  server().signal(SIGINT);
  EXPECT_EQ(server().wait().status, 128 + SIGINT);
  redis.go_on();
}

TEST_F(serve_outage, fills_no_queue_but_that_of_questions_and_none_for_long) {
  redis_server redis;
  serve_with_releases(redis.url());
  ASSERT_TRUE(eventually([&] { return is_healthy(); }));
  redis.stop();
  auto asking = ask_often("/api/locks/x", 40);
  EXPECT_THAT(read_reply(asking.back()).body, HasSubstr("too many requests wait for the store"));
  const auto change =
      ask("POST", "/api/locks/x/ask",
          "Origin: http://" + authority() + "\r\nContent-Type: application/json\r\nAuthorization: Bearer " +
              secret + "\r\n");
  EXPECT_EQ(change.status, 503);
  EXPECT_THAT(change.body, HasSubstr("cannot inspect 'x'")) << "the store was asked";
  asking.pop_back();
  std::size_t late = 0;
  for (auto& each : asking) {
    const auto reply = read_reply(each);
    EXPECT_EQ(reply.status, 503);
    if (reply.body.find("the store was not asked in time") != std::string::npos) ++late;
  }
  EXPECT_GT(late, 0U);
  redis.go_on();
}

TEST_F(serve_outage, lets_no_reading_of_all_queues_keep_a_lock_from_being_read) {
  redis_server redis;
  serve({"--store", redis.url()});
  ASSERT_TRUE(eventually([&] { return is_healthy(); }));
  redis.stop();
  auto asking = ask_often("/api/why/x", 20);
  EXPECT_THAT(read_reply(asking.back()).body, HasSubstr("too many requests wait for the store"));
  EXPECT_THAT(get("/api/locks/x").body, HasSubstr("cannot inspect 'x'")) << "the store was asked";
  redis.go_on();
}

TEST_F(serve_outage, leaves_a_line_of_a_change_that_was_under_way_when_it_ended) {
  redis_server redis;
  serve_with_releases(redis.url());
  ASSERT_TRUE(eventually([&] { return is_healthy(); }));
  redis.stop();
  connection releasing{port()};
  releasing.send("POST /api/locks/x/release HTTP/1.1\r\nHost: " + authority() + "\r\nOrigin: http://" +
                 authority() + "\r\nContent-Type: application/json\r\nAuthorization: Bearer " + secret +
                 "\r\nContent-Length: 12\r\n\r\n{\"token\": 7}");
  const auto has_line = [&] { return server().err().find(", token 7: begun\n") != std::string::npos; };
  EXPECT_TRUE(eventually(has_line)) << "before the store has answered";
  server().signal(SIGTERM);
  const auto said = server().wait();
  EXPECT_THAT(said.err, HasSubstr(" ends by force the hold of 'x'"));
  EXPECT_THAT(said.err, HasSubstr(", token 7: begun\n"));
  EXPECT_THAT(said.err, testing::Not(HasSubstr("done")));
  redis.go_on();
}

TEST_F(serve_outage, leaves_connections_for_what_needs_no_store) {
  redis_server redis;
  serve({"--store", redis.url()});
  ASSERT_TRUE(eventually([&] { return is_healthy(); }));
  redis.stop();
  auto examining = ask_often("/api/doctor", 64);
  EXPECT_THAT(read_reply(examining.back()).body, HasSubstr("too many wait for the doctor"));
  EXPECT_EQ(get("/metrics").status, 200);
  redis.go_on();
}

TEST_F(serve_outage, from_the_start_does_not_keep_it_from_starting) {
  redis_server redis;
  redis.kill();
  serve({"--store", redis.url()});
  EXPECT_EQ(get("/api/locks").status, 503);
  EXPECT_THAT(get("/healthz").body, HasSubstr("the store has not answered yet"));
  auto stream = open_stream();
  EXPECT_EQ(read_event(stream).kind, "status");
  redis.start();
  EXPECT_TRUE(eventually([&] { return is_healthy(); }));
  EXPECT_EQ(get_json("/api/locks")["total"], 0);
}

}  // namespace
}  // namespace holdfast::test
