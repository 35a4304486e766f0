// SPDX-License-Identifier: Apache-2.0
// elect and leader: one process of many runs a command.

#include <chrono>
#include <csignal>
#include <fstream>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "fixture.hpp"
#include "terminal.hpp"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class elect : public command_test {
 protected:
  /// A candidate whose command writes its value, token and name to the file "log" and goes on until it is
  /// ended.
  std::unique_ptr<process> candidate(const std::string& value, strings options = {},
                                     const std::string& script = "exec sleep 1000") {
    strings arguments{"elect", "boss", "--value", value};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.insert(arguments.end(),
                     {"--", "sh", "-c",
                      "echo \"" + value + " $HOLDFAST_TOKEN $HOLDFAST_NAME $$\" >>\"$D/log\"\n" + script});
    return start(arguments);
  }
  /// How often a command of that value has begun.
  std::size_t terms_of(const std::string& value) {
    std::ifstream log{file("log")};
    std::size_t count = 0;
    for (std::string line; std::getline(log, line);) {
      if (!line.starts_with(value + ' ')) continue;
      ++count;
      last_pid_ = std::stoi(line.substr(line.rfind(' ')));
    }
    return count;
  }
  bool leads(const std::string& value, std::size_t terms = 1) {
    return eventually([&] { return terms_of(value) >= terms && leader() == value + '\n'; });
  }
  std::string leader() { return holdfast({"leader", "boss"}).out; }

  pid_t last_pid_ = 0;
};

TEST_F(elect, runs_the_command_of_one_and_the_next_one_when_that_ends) {
  auto first = candidate("first");
  ASSERT_TRUE(leads("first"));
  EXPECT_THAT(contents(file("log")), HasSubstr("first "));
  EXPECT_THAT(contents(file("log")), HasSubstr(" boss "));
  auto second = candidate("second");
  ASSERT_TRUE(waiters("boss", 1));
  EXPECT_EQ(terms_of("second"), 0U);
  const auto seen = holdfast({"leader", "boss", "--json"});
  EXPECT_EQ(seen.status, 0);
  const auto shown = json::parse(seen.out);
  EXPECT_EQ(shown["leader"], true);
  EXPECT_EQ(shown["value"], "first");
  EXPECT_EQ(shown["program"], "holdfast elect (sh)");
  EXPECT_GT(shown["token"], 0);
  first->signal(SIGTERM);
  EXPECT_EQ(first->wait().status, 128 + SIGTERM) << "it does not stand by again";
  EXPECT_TRUE(leads("second"));
  second->signal(SIGKILL);
}

TEST_F(elect, says_where_nobody_leads) {
  auto nobody = holdfast({"leader", "boss"});
  EXPECT_EQ(nobody.status, 1);
  EXPECT_EQ(nobody.out, "");
  EXPECT_THAT(nobody.err, HasSubstr("nobody leads 'boss'"));
  nobody = holdfast({"leader", "boss", "--json"});
  EXPECT_EQ(nobody.status, 1);
  EXPECT_EQ(json::parse(nobody.out)["leader"], false);
  const auto locked = start_holder("boss");
  EXPECT_EQ(holdfast({"leader", "boss"}).status, 1) << "a lock is no leader";
  EXPECT_EQ(holdfast({"elect", "boss", "--", "/no/such/command"}).status, 127);
}

TEST_F(elect, ends_if_its_command_cannot_be_executed_in_the_first_term) {
  write_file(file("job"), "#!/no/such/interpreter\n");
  ::chmod(file("job").c_str(), 0700);
  const auto ended = holdfast({"elect", "boss", "--", file("job")});
  EXPECT_EQ(ended.status, 127);
  EXPECT_THAT(ended.err, HasSubstr("cannot execute"));
  EXPECT_EQ(holdfast({"leader", "boss"}).status, 1);
}

TEST_F(elect, ends_the_command_when_the_term_is_lost_and_stands_by_again) {
  auto first = candidate("first");
  ASSERT_TRUE(leads("first"));
  const pid_t command = last_pid_;
  EXPECT_EQ(holdfast({"release", "--force", "boss"}).status, 0);
  EXPECT_TRUE(eventually([&] { return is_dead(command); }));
  EXPECT_TRUE(leads("first", 2));
  EXPECT_THAT(first->err(), HasSubstr("the leadership of 'boss' (token "));
  first->signal(SIGINT);
  EXPECT_EQ(first->wait().status, 128 + SIGINT);
}

TEST_F(elect, ends_after_one_term_if_it_is_told_to) {
  auto once = candidate("first", {"--once"}, "exit 5");
  EXPECT_EQ(once->wait().status, 5);
  once = candidate("second", {"--once", "--lost-exit-code", "9"});
  ASSERT_TRUE(leads("second"));
  EXPECT_EQ(holdfast({"release", "--force", "boss"}).status, 0);
  EXPECT_EQ(once->wait().status, 9);
  once = candidate("third", {"--once", "--json"}, "exit 3");
  const auto ended = once->wait();
  const auto lines = parse_lines(ended.err);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0]["name"], "boss");
  EXPECT_EQ(lines[0]["lost"], false);
  EXPECT_EQ(lines[0]["command_status"], 3);
}

// Also one that handles the signal and ends without an error: Ctrl-C must not start it again.
TEST_F(elect, ends_with_a_command_that_handles_the_signal) {
  auto first =
      candidate("first", {}, "trap 'exit 0' INT TERM\ntouch \"$D/ready\"\nwhile :; do sleep 0.01; done");
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(file("ready")); }));
  first->signal(SIGINT);
  EXPECT_EQ(first->wait().status, 0);
  EXPECT_EQ(terms_of("first"), 1U);
  EXPECT_EQ(holdfast({"leader", "boss"}).status, 1);
}

TEST_F(elect, ends_by_the_keyboard) {
  strings environment = test::environment_with(this->environment());
  terminal screen{{HOLDFAST_COMMAND, "elect", "boss", "--value", "first", "--", "sh", "-c",
                   "trap 'exit 0' INT; echo began; while :; do sleep 0.01; done"},
                  environment};
  ASSERT_TRUE(screen.shows("began"));
  screen.type("\x03");
  EXPECT_EQ(screen.wait(), 0);
  EXPECT_EQ(holdfast({"leader", "boss"}).status, 1);
}

TEST_F(elect, forwards_a_hangup_and_stays_a_candidate) {
  auto first =
      candidate("first", {},
                "trap 'echo again >>\"$D/reloads\"' HUP\ntouch \"$D/ready\"\nwhile :; do sleep 0.01; done");
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(file("ready")); }));
  first->signal(SIGHUP);
  EXPECT_TRUE(eventually([&] { return contents(file("reloads")) == "again\n"; }));
  auto second = candidate("second");
  ASSERT_TRUE(waiters("boss", 1));
  second->signal(SIGHUP);
  // Whatever it has taken, it has taken before it stops and goes on.
  second->signal(SIGTSTP);
  ASSERT_TRUE(eventually([&] { return state_of(second->pid()) == 'T'; }));
  second->signal(SIGCONT);
  EXPECT_TRUE(waiters("boss", 1));
  first->signal(SIGTERM);
  EXPECT_TRUE(leads("second"));
}

TEST_F(elect, pauses_after_a_command_that_fails_at_once) {
  const auto begun = std::chrono::steady_clock::now();
  auto first = candidate("first", {}, "exit 1");
  // Before that the signal is passed on to the command, whose status is then that of elect.
  const auto third_has_ended = [&] {
    const std::string said = first->err();
    std::size_t ends = 0;
    for (auto at = said.find("ended with status 1"); at != std::string::npos;
         at = said.find("ended with status 1", at + 1))
      ++ends;
    return ends >= 3;
  };
  ASSERT_TRUE(eventually(third_has_ended)) << first->err();
  EXPECT_GE(terms_of("first"), 3U);
  EXPECT_GE(std::chrono::steady_clock::now() - begun, 3s) << "1 s and 2 s";
  EXPECT_THAT(first->err(), HasSubstr("'sh' ended with status 1 after "));
  EXPECT_TRUE(first->running());
  first->signal(SIGTERM);
  EXPECT_EQ(first->wait().status, 128 + SIGTERM) << "in a pause, too";
}

TEST_F(elect, stays_while_its_program_is_replaced) {
  const auto program = file("job");
  const auto install = [&] {
    write_file(program + ".new", "#!/bin/sh\necho \"job 1 boss $$\" >>\"$D/log\"\nexec sleep 1000\n");
    ::chmod((program + ".new").c_str(), 0700);
    std::filesystem::rename(program + ".new", program);
  };
  install();
  auto first = start({"elect", "boss", "--value", "job", "--", program});
  ASSERT_TRUE(leads("job"));
  std::filesystem::remove(program);
  ::kill(last_pid_, SIGKILL);
  EXPECT_TRUE(eventually([&] { return first->err().find("there is no command") != std::string::npos; }));
  EXPECT_EQ(holdfast({"leader", "boss"}).status, 1) << "without a program it does not lead";
  install();
  EXPECT_TRUE(leads("job", 2));
  first->signal(SIGTERM);
  first->wait();
}

TEST_F(elect, shows_each_leader_as_it_comes) {
  auto watch = start({"leader", "boss", "--watch"});
  auto watch_in_json = start({"leader", "boss", "--watch", "--json"});
  const auto lines_in_json = [&] { return whole_lines(watch_in_json->out()); };
  ASSERT_TRUE(eventually([&] { return watch->out() == "\n" && lines_in_json().size() == 1; }));
  auto first = candidate("first");
  EXPECT_TRUE(eventually([&] { return watch->out() == "\nfirst\n"; }));
  EXPECT_TRUE(eventually([&] { return lines_in_json().size() == 2; })) << "it may look later";
  first->signal(SIGTERM);
  EXPECT_EQ(first->wait().status, 128 + SIGTERM);
  EXPECT_TRUE(eventually([&] { return watch->out() == "\nfirst\n\n"; }));
  EXPECT_TRUE(eventually([&] { return lines_in_json().size() == 3; }));
  const auto lines = lines_in_json();
  EXPECT_EQ(lines.at(1)["value"], "first");
  EXPECT_EQ(lines.at(2)["leader"], false);
  watch->signal(SIGTERM);
  EXPECT_EQ(watch->wait().status, 0);
}

}  // namespace
}  // namespace holdfast::test
