// SPDX-License-Identifier: Apache-2.0
// `release --ask`, and what `run` and `elect` do with a request.

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <gmock/gmock.h>
#include <memory>
#include <string>

#include "fixture.hpp"

namespace holdfast::test {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

class release_requests : public command_test {
 protected:
  /// Around a script that notes the signal, says that it can, and ends with 5.
  std::unique_ptr<process> start_listening(const std::string& signal, const strings& options) {
    auto wrapper = start_holder("x", options,
                                "trap 'echo heard >$D/log; exit 5' " + signal +
                                    "\necho ready >$D/ready\nwhile :; do sleep 0.01; done");
    EXPECT_TRUE(eventually([&] { return std::filesystem::exists(file("ready")); }));
    return wrapper;
  }
};

TEST_F(release_requests, are_sent_to_the_command_as_the_signal_that_was_chosen) {
  auto wrapper = start_listening("USR1", {"--on-request", "USR1"});
  const auto asks = holdfast({"release", "--ask", "x", "--reason", "deployment"}).out;
  EXPECT_THAT(
      asks, MatchesRegex("asked the holder( \\(holdfast run \\(sh\\) on .*, pid [0-9]+\\))? of the lock 'x' "
                         "to release it\\. The holder decides, and nothing changes before\\. "
                         "To wait for that: holdfast wait 'x'\n"));
  const auto ended = wrapper->wait();
  EXPECT_EQ(ended.status, 5);
  EXPECT_EQ(contents(file("log")), "heard\n");
  EXPECT_THAT(ended.err, Not(HasSubstr("asks")));
  EXPECT_FALSE(held("x"));
}

/// As printed it has to ask the same store: in the default one nobody holds the name.
TEST_F(release_requests, print_a_command_that_waits_at_the_same_store) {
  const auto other = "sqlite:" + file("it's other.db");
  const auto wrapper = start_holder("x", {"--store", other});
  const auto asks = holdfast({"release", "--ask", "x", "--store", other}).out;
  const auto printed = asks.find("holdfast wait ");
  ASSERT_NE(printed, std::string::npos) << asks;
  const auto options = asks.substr(printed + std::string{"holdfast wait "}.size());
  EXPECT_THAT(options, MatchesRegex("--store 'sqlite:/.*/it'\\\\''s other\\.db' 'x'\n"));
  process waits{scratch_, {"sh", "-c", HOLDFAST_COMMAND " wait --wait 0 " + options}, {environment()}};
  EXPECT_EQ(waits.wait().status, 75);
}

TEST_F(release_requests, are_a_line_without_a_signal_and_end_nothing) {
  auto wrapper = start_listening("USR1", {});
  EXPECT_EQ(holdfast({"release", "--ask", "x", "--reason", "a \"backup\""}).status, 0);
  EXPECT_TRUE(eventually([&] { return wrapper->err().ends_with('\n'); }));
  EXPECT_EQ(wrapper->err(),
            "holdfast: somebody asks this job to release 'x' (a \"backup\"). It goes on; --on-request TERM "
            "would end "
            "it\n");
  EXPECT_TRUE(held("x"));
  EXPECT_THAT(holdfast({"show", "x"}).out, HasSubstr(" is asked to release: a \"backup\"\n"));
  EXPECT_EQ(show("x")["holders"][0]["release_request"], "a \"backup\"");
  wrapper->signal(SIGUSR1);
  EXPECT_EQ(wrapper->wait().status, 5);
}

TEST_F(release_requests, are_told_in_json) {
  auto wrapper = start_listening("INT", {"--json", "--on-request", "SIGINT"});
  const auto answers = parse_lines(holdfast({"release", "--ask", "x", "--reason", "why", "--json"}).out);
  EXPECT_EQ(answers.at(0)["asked"], 1);
  const auto lines = parse_lines(wrapper->wait().err);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0]["release_requested"]["name"], "x");
  EXPECT_EQ(lines[0]["release_requested"]["reason"], "why");
  EXPECT_EQ(lines[0]["lost"], false);
  EXPECT_EQ(lines[0]["command_status"], 5);
}

TEST_F(release_requests, that_come_again_say_so_and_keep_a_reason) {
  const auto wrapper = start_listening("USR1", {});
  const auto ask = [this](strings more) {
    more.insert(more.begin(), {"release", "--ask", "x"});
    return holdfast(more);
  };
  EXPECT_EQ(parse_lines(ask({"--reason", "why", "--json"}).out).at(0)["asked_before"], 0);
  const auto again = ask({});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(
      again.out,
      MatchesRegex("asked the holder \\(holdfast run \\(sh\\) on .*, pid " + std::to_string(wrapper->pid()) +
                   "\\) of the lock 'x' to release it; it was asked before, and a holder hears of "
                   "the first request only\\. .*\n"));
  EXPECT_EQ(show("x")["holders"][0]["release_request"], "why");
  const auto token = std::to_string(show("x")["holders"][0]["token"].get<std::uint64_t>());
  const auto in_json = parse_lines(ask({"--token", token, "--json"}).out).at(0);
  EXPECT_EQ(in_json["asked"], 1);
  EXPECT_EQ(in_json["asked_before"], 1);
  EXPECT_EQ(show("x")["holders"][0]["release_request"], "why");
  EXPECT_EQ(ask({"--reason", "another"}).status, 0);
  EXPECT_EQ(show("x")["holders"][0]["release_request"], "another");
}

TEST_F(release_requests, that_come_again_count_the_holders_that_were_asked_before) {
  const auto first = start_holder("x", {"--shared"});
  const auto token = std::to_string(show("x")["holders"][0]["token"].get<std::uint64_t>());
  const auto second = start_holder("x", {"--shared"});
  EXPECT_EQ(holdfast({"release", "--ask", "x", "--token", token, "--reason", "why"}).status, 0);
  EXPECT_THAT(holdfast({"release", "--ask", "x"}).out,
              HasSubstr("asked 2 holders of the lock 'x' to release it; one was asked before, and "));
  for (const auto& holder : show("x")["holders"]) {
    const bool is_first = std::to_string(holder["token"].get<std::uint64_t>()) == token;
    EXPECT_EQ(holder["release_request"], is_first ? "why" : "");
  }
}

TEST_F(release_requests, find_nobody_with_a_status_of_their_own) {
  const auto nobody = holdfast({"release", "--ask", "x"});
  EXPECT_EQ(nobody.status, 1);
  EXPECT_EQ(nobody.out, "nobody holds the lock 'x'\n");
  const auto wrapper = start_holder("x");
  const auto none = holdfast({"release", "--ask", "x", "--token", "12345"});
  EXPECT_EQ(none.status, 1);
  EXPECT_EQ(none.out, "nobody holds the lock 'x' with the token 12345\n");
  const auto token = std::to_string(show("x")["holders"][0]["token"].get<std::uint64_t>());
  EXPECT_EQ(holdfast({"release", "--ask", "x", "--token", token}).status, 0);
}

TEST_F(release_requests, end_the_term_of_a_leader) {
  auto candidate = start({"elect", "boss", "--once", "--on-request", "TERM", "--", "sh", "-c",
                          "echo ready >" + file("ready") + "; exec sleep 1000"});
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(file("ready")); }));
  EXPECT_EQ(holdfast({"release", "--ask", "boss"}).status, 0);
  EXPECT_EQ(candidate->wait().status, 128 + SIGTERM);
  EXPECT_EQ(holdfast({"leader", "boss"}).status, 1);
}

}  // namespace
}  // namespace holdfast::test
