// SPDX-License-Identifier: Apache-2.0
// Clients that mean different sets of servers.

#include <atomic>
#include <cstddef>
#include <future>
#include <string>
#include <string_view>
#include <vector>

#include "faults/faults.hpp"
#include "support/redis_quorum.hpp"

namespace holdfast::faults {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string place_of(test::redis_server& server) { return "127.0.0.1:" + std::to_string(server.port()); }

std::string url_of(const std::vector<std::string>& places) {
  std::string url;
  for (const std::string& each : places) url += (url.empty() ? "redlock://" : ",") + each;
  return url + "?restart_guard=0&node_timeout=20s";
}

TEST(redis_quorum_sets, that_differ_let_no_two_in) {
  test::redis_quorum servers;
  std::vector<std::string> places;
  for (std::size_t i = 0; i < servers.size(); ++i) places.push_back(place_of(servers.server(i)));
  client five{url_of(places)};
  auto held = mutex{five, "stock"}.acquire();
  const auto refused = failure_of([&] {
    client three{url_of({places[2], places[3], places[4]})};
    mutex{three, "stock", patient()}.lock();
  });
  EXPECT_EQ(refused.code, errc::foreign_store) << refused.text;
  EXPECT_THAT(refused.text, AllOf(HasSubstr(places[0]), HasSubstr("the same servers")));
  EXPECT_EQ(renew(held), renewal::renewed);
}

TEST(redis_quorum_sets, that_share_a_minority_let_no_two_in) {
  const std::vector<std::size_t> first{0, 1, 2};
  const std::vector<std::size_t> second{2, 3, 4};
  test::redis_quorum servers;
  const auto url = [&](const std::vector<std::size_t>& of) {
    std::vector<std::string> places;
    for (const std::size_t each : of) places.push_back(place_of(servers.server(each)));
    return url_of(places);
  };
  client one{url(first)};
  auto held = mutex{one, "stock"}.acquire();
  client two{url(second)};
  const auto refused = failure_of([&] { mutex{two, "stock", patient()}.lock(); });
  EXPECT_EQ(refused.code, errc::foreign_store) << refused.text;
  for (const std::size_t each : {0, 1, 2, 3, 4})
    EXPECT_THAT(refused.text, HasSubstr(place_of(servers.server(each)))) << "both sets are told";
  EXPECT_NE(servers.server(2).ask({"DBSIZE"}), "0");
  for (const std::size_t each : {3, 4})
    EXPECT_EQ(servers.server(each).ask({"DBSIZE"}), "0") << "the refused client leaves a key";
  EXPECT_EQ(renew(held), renewal::renewed);
}

// The set is written and read by two commands. A connection may break between their answers.
TEST(redis_quorum_sets, are_not_read_from_the_first_half_of_an_answer) {
  std::atomic<bool> is_halved = false;
  test::redis_quorum servers{{.servers = 3, .on_lines = true}};
  servers.line(0).forge([&](std::string_view, std::string_view answer) {
    // The write of the set alone is answered so. Answers to other commands may come with it, or not.
    const std::string_view written = "+OK\r\n";
    const std::size_t at = answer.find(written);
    if (at == std::string_view::npos || is_halved.exchange(true)) return std::string{answer};
    return std::string{answer.substr(0, at + written.size())};
  });
  client locks{servers.url("?node_timeout=20s")};
  auto locked = std::async(std::launch::async,
                           [&] { return failure_of([&] { mutex{locks, "stock", patient()}.lock(); }); });
  await([&] { return is_halved.load(); }, "no set is written");
  servers.line(0).cut_all(test::ending::reset);
  EXPECT_EQ(locked.get().text, "it did not fail");
}

TEST(redis_quorum_sets, that_have_one_server_under_two_names_are_refused) {
  test::redis_quorum servers{{.servers = 2}};
  const std::string port = std::to_string(servers.server(0).port());
  client locks{url_of({"127.0.0.1:" + port, "localhost:" + port, place_of(servers.server(1))})};
  const auto refused = failure_of([&] { mutex{locks, "stock", patient()}.lock(); });
  EXPECT_EQ(refused.code, errc::invalid_argument) << refused.text;
  EXPECT_THAT(refused.text, AllOf(HasSubstr("127.0.0.1:" + port), HasSubstr("localhost:" + port),
                                  HasSubstr("the same server")));
  for (const std::size_t each : {0, 1}) EXPECT_EQ(servers.server(each).ask({"DBSIZE"}), "0");
}

/// The key in which a server keeps the set.
const std::string set_key = "{holdfast:}\x1fquorum";

TEST(redis_quorum_sets, that_differ_later_stop_new_claims_and_leave_holds) {
  test::redis_quorum servers{{.servers = 3}};
  client locks{servers.url("?node_timeout=20s")};
  auto held = mutex{locks, "stock"}.acquire();
  test::redis_server& wrong = servers.server(2);
  ASSERT_NE(wrong.ask({"GET", set_key}), "(nil)");
  wrong.ask({"SET", set_key, "10.0.0.1:6379"});
  wrong.ask({"CLIENT", "KILL", "TYPE", "normal"});
  wrong.ask({"CLIENT", "KILL", "TYPE", "pubsub"});
  failing refused;
  const auto claim = [&] {
    refused = failure_of([&] { const auto other = mutex{locks, "other", hasty()}.try_acquire(); });
    return refused.code;
  };
  await([&] { return claim() == errc::foreign_store; }, "a server that keeps another set stops no claim");
  EXPECT_THAT(refused.text, AllOf(HasSubstr(place_of(wrong)), HasSubstr("10.0.0.1:6379")));
  EXPECT_EQ(renew(held), renewal::renewed);
  EXPECT_NE(servers.server(0).ask({"GET", set_key}), "(nil)") << "the hold needs it";
  wrong.ask({"DEL", set_key});
  await([&] { return !claim(); }, "the client is refused for ever");
  EXPECT_FALSE(held.release());
}

TEST(redis_quorum_sets, that_a_server_has_forgotten_are_told_again) {
  test::redis_quorum servers{{.servers = 3}};
  client locks{servers.url()};
  auto held = mutex{locks, "stock"}.acquire();
  const std::string kept = servers.server(0).ask({"GET", set_key});
  servers.server(1).kill();
  servers.server(1).start_empty();
  await([&] { return servers.server(1).ask({"GET", set_key}) == kept; }, "the server is not told");
  EXPECT_TRUE(mutex(locks, "other", patient()).acquire().token());
  EXPECT_EQ(renew(held), renewal::renewed);
}

TEST(redis_quorum_sets, that_are_written_at_the_same_time_leave_nothing_of_the_second) {
  test::redis_quorum servers{{.servers = 3, .on_lines = true}};
  client locks{servers.url("?node_timeout=1min")};
  const auto has_answered = [&](std::size_t server) {
    static_cast<void>(locks.inspect("stock"));
    return servers.server(server).calls("eval") + servers.server(server).calls("evalsha") != 0;
  };
  for (const std::size_t each : {0, 1, 2}) await([&] { return has_answered(each); }, "a server is not asked");
  servers.line(2).interfere(test::direction::to_server, {.stall = true});
  auto refused = std::async(std::launch::async,
                            [&] { return failure_of([&] { mutex{locks, "stock", patient()}.lock(); }); });
  for (const std::size_t each : {0, 1})
    await([&] { return servers.server(each).ask({"EXISTS", set_key}) == "1"; }, "the set is not written");
  servers.server(2).ask({"SET", set_key, "10.0.0.1:6379"});
  servers.line(2).heal();
  EXPECT_EQ(refused.get().code, errc::foreign_store);
  for (const std::size_t each : {0, 1})
    await([&] { return servers.server(each).ask({"DBSIZE"}) == "0"; }, "the refused client leaves a key");
  EXPECT_EQ(servers.server(2).ask({"GET", set_key}), "10.0.0.1:6379");
}

}  // namespace
}  // namespace holdfast::faults
