// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "fixture.hpp"

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class run : public command_test {};

TEST_F(run, passes_on_the_status) {
  EXPECT_EQ(holdfast({"run", "x", "--", "true"}).status, 0);
  EXPECT_EQ(holdfast({"run", "x", "--", "sh", "-c", "exit 37"}).status, 37);
  EXPECT_EQ(holdfast({"run", "x", "--", "sh", "-c", "kill -USR1 $$"}).status, 128 + SIGUSR1);
  EXPECT_EQ(holdfast({"run", "x", "--", "sh", "-c", "kill -KILL $$"}).status, 128 + SIGKILL);
}

TEST_F(run, passes_on_input_output_and_every_argument) {
  write_file(file("input"), "from the input\n");
  const auto said = holdfast({"run", "x", "--", "sh", "-c", "cat; printf '<%s>' \"$@\"; echo oops >&2", "sh",
                              "two words", "", "--", "--json", "-x", "$HOME"},
                             {{}, file("input")});
  EXPECT_EQ(said.status, 0);
  EXPECT_EQ(said.out, "from the input\n<two words><><--><--json><-x><$HOME>");
  EXPECT_EQ(said.err, "oops\n");
}

TEST_F(run, tells_the_command_name_and_token) {
  const strings print{"run", "a name", "--", "sh", "-c", "echo $HOLDFAST_TOKEN; echo $HOLDFAST_NAME"};
  const auto first = holdfast(print);
  const auto second = holdfast(print);
  EXPECT_THAT(first.out, HasSubstr("\na name\n"));
  EXPECT_GT(std::stoull(first.out), 0U);
  EXPECT_GT(std::stoull(second.out), std::stoull(first.out));
  EXPECT_EQ(show("a name")["last_token"], std::stoull(second.out));
}

TEST_F(run, keeps_secrets_from_the_command) {
  const auto said = holdfast({"run", "x", "--store", store(), "--", "env"},
                             {{"HOLDFAST_PASSWORD=correct-horse", "HOLDFAST_TOKEN=1", "HOLDFAST_NAME=old",
                               "HOLDFAST_STORE=redis://u:correct-horse@h/0", "KEPT=yes"},
                              ""});
  EXPECT_EQ(said.status, 0) << said.err;
  EXPECT_THAT(said.out, AllOf(Not(HasSubstr("correct-horse")), Not(HasSubstr("HOLDFAST_PASSWORD")),
                              Not(HasSubstr("HOLDFAST_NAME=old")), HasSubstr("KEPT=yes"),
                              HasSubstr("HOLDFAST_STORE=redis://")));
}

TEST_F(run, gives_the_command_no_descriptor_of_ours) {
  process bare{scratch_, {"ls", "/proc/self/fd"}, {}};
  EXPECT_EQ(holdfast({"run", "x", "--", "ls", "/proc/self/fd"}).out, bare.wait().out);
}

/// What a line of /proc/PID/status says of the signals 1 to 31; those above belong to the C library.
std::uint64_t signals_in(const std::string& status, const std::string& line) {
  const auto place = status.find(line + ":\t");
  EXPECT_NE(place, status.npos);
  return std::stoull(status.substr(place + line.size() + 2), nullptr, 16) & 0x7fffffffU;
}

TEST_F(run, gives_the_command_signals_as_it_found_them) {
  process bare{scratch_, {"cat", "/proc/self/status"}, {}};
  const auto expected = bare.wait().out;
  const auto found = holdfast({"run", "x", "--", "cat", "/proc/self/status"}).out;
  EXPECT_EQ(signals_in(found, "SigBlk"), signals_in(expected, "SigBlk"));
  EXPECT_EQ(signals_in(found, "SigIgn"), signals_in(expected, "SigIgn"));

  // As nohup would start it.
  const auto script =
      "trap '' HUP; exec " HOLDFAST_COMMAND " run x --store " + store() + " -- cat /proc/self/status";
  process ignoring{scratch_, {"sh", "-c", script}, {}};
  EXPECT_EQ(signals_in(ignoring.wait().out, "SigIgn"), signals_in(expected, "SigIgn") | 1U);
}

TEST_F(run, looks_the_command_up_before_it_waits) {
  const auto holder = start_holder("x");
  EXPECT_EQ(holdfast({"run", "x", "--", "no-such-command-here"}).status, 127);
  EXPECT_EQ(holdfast({"run", "x", "--", "./no/such/file"}).status, 127);
  EXPECT_EQ(holdfast({"run", "x", "--", ""}).status, 127);
  const auto folder = holdfast({"run", "x", "--", "/"});
  EXPECT_EQ(folder.status, 126);
  EXPECT_THAT(folder.err, HasSubstr("folder"));
  write_file(file("plain"), "echo hello\n");
  const auto plain = holdfast({"run", "x", "--", file("plain")});
  EXPECT_EQ(plain.status, 126);
  EXPECT_THAT(plain.err, HasSubstr("chmod +x"));
}

TEST_F(run, runs_a_script_without_a_first_line_as_shells_do) {
  write_file(file("script"), "echo ran $1\n");
  ::chmod(file("script").c_str(), 0700);
  const auto said = holdfast({"run", "x", "--", file("script"), "well"});
  EXPECT_EQ(said.status, 0) << said.err;
  EXPECT_EQ(said.out, "ran well\n");
}

TEST_F(run, an_interpreter_that_is_missing_is_reported_and_the_lock_released) {
  write_file(file("script"), "#!/no/such/interpreter\n");
  ::chmod(file("script").c_str(), 0700);
  EXPECT_EQ(holdfast({"run", "x", "--", file("script")}).status, 127);
  EXPECT_EQ(holdfast({"run", "x", "--wait", "0", "--", "true"}).status, 0);
}

TEST_F(run, excludes_and_says_who_holds) {
  const auto holder = start_holder("x", {"--label", "first of all"});
  for (const auto* wait : {"0", "50ms"}) {
    const auto said = holdfast({"run", "x", "--wait", wait, "--", "true"});
    EXPECT_EQ(said.status, 75);
    EXPECT_THAT(said.err, AllOf(StartsWith("holdfast: "), HasSubstr("first of all"), HasSubstr("(sh) on ")));
  }
  EXPECT_EQ(holdfast({"run", "y", "--wait", "0", "--", "true"}).status, 0) << "another name is free";
  for (const auto* wait : {"50ms", "1s500ms"}) {  // as it was asked for
    EXPECT_THAT(holdfast({"run", "x", "--wait", wait, "--", "true"}).err,
                HasSubstr(std::string{" within "} + wait + ": "));
  }
}

TEST_F(run, quiet_says_nothing_where_others_hold_and_everything_else) {
  const auto holder = start_holder("x");
  for (const auto* flag : {"-q", "--quiet"}) {
    const auto refused = holdfast({"run", "x", flag, "--wait", "0", "--", "true"});
    EXPECT_EQ(refused.status, 75);
    EXPECT_EQ(refused.err, "") << "cron would mail it";
  }
  EXPECT_NE(
      holdfast({"run", "x", "-q", "--wait", "0", "--store", "sqlite:/proc/no/locks.db", "--", "true"}).err,
      "");
  EXPECT_EQ(holdfast({"run", "y", "-q", "--", "sh", "-c", "echo own words >&2"}).err, "own words\n");
  EXPECT_EQ(parse_lines(holdfast({"run", "x", "-q", "--json", "--wait", "0", "--", "true"}).err).size(), 1U)
      << "what a machine reads is no noise";
}

TEST_F(run, ends_with_the_status_that_was_asked_for_where_others_hold) {
  const auto holder = start_holder("x");
  EXPECT_EQ(holdfast({"run", "x", "-E", "9", "--wait", "0", "--", "true"}).status, 9);
  EXPECT_EQ(holdfast({"run", "x", "--conflict-exit-code", "0", "--wait", "1s", "--", "true"}).status, 0);
  const auto events =
      parse_lines(holdfast({"run", "x", "-E", "9", "--json", "--wait", "0", "--", "true"}).err);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0]["status"], 9);
  EXPECT_EQ(holdfast({"run", "y", "-E", "9", "--wait", "0", "--", "sh", "-c", "exit 75"}).status, 75)
      << "the command's own";
  for (const auto* wrong : {"256", "-1", "x", ""}) {
    EXPECT_EQ(holdfast({"run", "y", "-E", wrong, "--", "true"}).status, 64) << wrong;
  }
}

/// A container that is started anew has the host name that it had, and its command is process 1 again.
TEST_F(run, takes_no_former_process_with_the_same_id_for_itself) {
  process second{scratch_,
                 {"sh", "-c",
                  "echo $$ >" + file("pid") + "; while [ ! -e " + file("go") +
                      " ]; do sleep 0.01; done; exec " HOLDFAST_COMMAND " run x -E 9 --wait 0 -- true"},
                 {environment()}};
  ASSERT_TRUE(eventually([&] { return contents(file("pid")).ends_with('\n'); }));
  const auto first = start_holder("x", {"--ttl", "10m"});
  first->signal(SIGKILL);
  process edit{scratch_,
               {"sqlite3", "-bail", file("locks.db"), ".timeout 60000",
                "update holdfast_locks_claims set metadata = json_set(metadata, '$.pid', " +
                    std::to_string(second.pid()) + ");"},
               {}};
  ASSERT_TRUE(eventually([&] {
    const json holder = show("x")["holders"].at(0);
    return holder["pid"] == second.pid() && holder["age_s"] > 2;
  }));
  write_file(file("go"), "");
  const auto refused = second.wait();
  EXPECT_EQ(refused.status, 9) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("it is held by holdfast run (sh) on "));
}

TEST_F(run, advises_a_longer_wait_only_where_there_was_one) {
  const auto holder = start_holder("x");
  EXPECT_THAT(holdfast({"run", "x", "--wait", "1s", "--", "true"}).err, HasSubstr("longer --wait"));
  EXPECT_THAT(holdfast({"run", "x", "--wait", "0", "--", "true"}).err, Not(HasSubstr("longer --wait")));
}

TEST_F(run, waits_for_its_turn) {
  auto holder = start_holder("x", {}, "while [ ! -e $D/go ]; do sleep 0.01; done; echo first >>$D/order");
  auto second = start({"run", "x", "--", "sh", "-c", "echo second >>$D/order"});
  ASSERT_TRUE(waiters("x", 1));
  auto third = start({"run", "x", "--wait", "1m", "--", "sh", "-c", "echo third >>$D/order"});
  ASSERT_TRUE(waiters("x", 2));
  write_file(file("go"), "");
  EXPECT_EQ(holder->wait().status, 0);
  EXPECT_EQ(second->wait().status, 0);
  EXPECT_EQ(third->wait().status, 0);
  EXPECT_EQ(contents(file("order")), "first\nsecond\nthird\n");
}

TEST_F(run, releases_before_it_ends) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(holdfast({"run", "x", "--wait", "0", "--", "true"}).status, 0);
  EXPECT_FALSE(held("x"));
}

TEST_F(run, shares_among_readers) {
  const auto reader = start_holder("x", {"--shared"});
  EXPECT_EQ(holdfast({"run", "x", "--shared", "--wait", "0", "--", "true"}).status, 0);
  EXPECT_EQ(holdfast({"run", "x", "--wait", "0", "--", "true"}).status, 75);
}

TEST_F(run, hands_out_permits) {
  const auto two_of_three = start_holder("x", {"--permits", "2/3"});
  EXPECT_EQ(holdfast({"run", "x", "--permits", "1/3", "--wait", "0", "--", "true"}).status, 0);
  EXPECT_EQ(holdfast({"run", "x", "--permits", "2/3", "--wait", "0", "--", "true"}).status, 75);
  EXPECT_EQ(holdfast({"run", "x", "--permits", "1/4", "--wait", "0", "--", "true"}).status, 64)
      << "another capacity is another kind of lock";
  EXPECT_EQ(show("x")["holders"][0]["permits"], 2);
}

TEST_F(run, reports_in_json_at_the_end) {
  const auto said = holdfast({"run", "x", "--json", "--", "sh", "-c", "exit 3"});
  EXPECT_EQ(said.status, 3);
  const auto lines = parse_lines(said.err);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0]["name"], "x");
  EXPECT_GT(lines[0]["token"], 0);
  EXPECT_GE(lines[0]["waited_s"], 0);
  EXPECT_GE(lines[0]["held_s"], 0);
  EXPECT_EQ(lines[0]["lost"], false);
  EXPECT_EQ(lines[0]["status"], 3);

  const auto holder = start_holder("x");
  const auto refused = parse_lines(holdfast({"run", "x", "--json", "--wait", "0", "--", "true"}).err);
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(refused[0]["status"], 75);
}

TEST_F(run, takes_a_command_whatever_bytes_its_name_has) {
  for (const auto& name : strings{"gr\xfc\xdf"
                                  "e",
                                  "two\nlines", std::string(250, '\xfc')}) {
    write_file(file(name), "#!/bin/sh\n" HOLDFAST_COMMAND " show x --json\n");
    ::chmod(file(name).c_str(), 0700);
    const auto said = holdfast({"run", "x", "--", file(name)});
    EXPECT_EQ(said.status, 0) << said.err;
    const auto shown = parse_lines(said.out).at(0)["holders"][0]["program"].get<std::string>();
    EXPECT_THAT(shown, AllOf(StartsWith("holdfast run ("), EndsWith(")")));
  }
}

TEST_F(run, shows_the_commands_name_to_others) {
  const auto holder = start_holder("x", {"--ttl", "1h", "--label", "weekly"});
  const auto first = show("x")["holders"][0];
  EXPECT_EQ(first["program"], "holdfast run (sh)");
  EXPECT_EQ(first["label"], "weekly");
  EXPECT_EQ(first["pid"], holder->pid());
  EXPECT_GT(first["expires_in_s"], 1800);
}

}  // namespace
}  // namespace holdfast::test
