// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <gmock/gmock.h>
#include <memory>
#include <vector>

#include "fixture.hpp"
#include "terminal.hpp"

namespace holdfast::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class on_terminal : public command_test {
 protected:
  terminal open(strings arguments, strings additions = {}) {
    additions.push_back("TERM=xterm");
    for (const auto& each : environment()) additions.push_back(each);
    return {std::move(arguments), environment_with(additions)};
  }

  static strings command(strings arguments) {
    arguments.insert(arguments.begin(), HOLDFAST_COMMAND);
    return arguments;
  }
};

/// What the line says behind the text that was shown last.
std::string rest_of_line(terminal& screen) {
  constexpr std::string_view end = "\x1b[K";
  EXPECT_TRUE(eventually([&] { return screen.rest().find(end) != std::string::npos; }));
  const auto rest = screen.rest();
  return rest.substr(0, rest.find(end));
}

constexpr auto escape = "\x1b[";

TEST_F(on_terminal, a_wait_tells_who_holds_and_how_many_are_ahead) {
  const auto holder = start_holder("x", {"--label", "the weekly one"});
  auto ahead = start({"run", "x", "--", "true"});
  ASSERT_TRUE(waiters("x", 1));
  auto screen = open(command({"run", "x", "--", "echo", "my turn"}));
  EXPECT_TRUE(screen.shows("1 ahead in the queue; held by holdfast run (sh) on "));
  ahead->signal(SIGINT);
  EXPECT_TRUE(screen.shows("next in the queue"));
  holder->signal(SIGTERM);
  EXPECT_TRUE(screen.shows("\x1b[K")) << "the line is wiped";
  EXPECT_TRUE(screen.shows("my turn"));
  EXPECT_EQ(screen.wait(), 0);
}

TEST_F(on_terminal, a_wait_estimates_its_turn_after_two_hand_overs) {
  std::vector<std::unique_ptr<process>> claims;
  claims.push_back(start_holder("x"));
  for (std::size_t i = 0; i < 3; ++i) {
    claims.push_back(start({"run", "x", "--", "sleep", "1000"}));
    ASSERT_TRUE(waiters("x", i + 1));
  }
  auto screen = open(command({"run", "x", "--", "echo", "my turn"}));
  EXPECT_TRUE(screen.shows("3 ahead in the queue"));
  claims[0]->signal(SIGTERM);
  EXPECT_TRUE(screen.shows("2 ahead in the queue; "));
  EXPECT_THAT(rest_of_line(screen), StartsWith("held by"));
  claims[1]->signal(SIGTERM);
  EXPECT_TRUE(screen.shows("1 ahead in the queue; our turn in about "));
  EXPECT_TRUE(screen.shows(", at one hand-over every "));
  EXPECT_TRUE(screen.shows(", as the last 2"));
  claims[2]->signal(SIGTERM);
  EXPECT_TRUE(screen.shows("next in the queue"));
  claims[3]->signal(SIGTERM);
  EXPECT_TRUE(screen.shows("my turn"));
  EXPECT_EQ(screen.wait(), 0);
}

TEST_F(on_terminal, a_reader_who_waits_is_told_no_turn) {
  std::vector<std::unique_ptr<process>> claims;
  claims.push_back(start_holder("x"));
  for (std::size_t i = 0; i < 2; ++i) {
    claims.push_back(start({"run", "x", "--", "sleep", "1000"}));
    ASSERT_TRUE(waiters("x", i + 1));
  }
  auto screen = open(command({"run", "x", "--shared", "--", "echo", "my turn"}));
  EXPECT_TRUE(screen.shows("2 ahead in the queue"));
  claims[0]->signal(SIGTERM);
  EXPECT_TRUE(screen.shows("1 ahead in the queue"));
  claims[1]->signal(SIGTERM);
  EXPECT_TRUE(screen.shows("next in the queue; "));
  EXPECT_THAT(rest_of_line(screen), StartsWith("held by"));
  claims[2]->signal(SIGTERM);
  EXPECT_TRUE(screen.shows("my turn"));
  EXPECT_EQ(screen.wait(), 0);
}

// It holds nothing of 'z', which comes after 'b' in the order of names, and does not wait for it yet.
TEST_F(on_terminal, a_wait_for_several_names_tells_in_whose_queue_it_stands) {
  const auto last = start_holder("z");
  const auto first = start_holder("b");
  auto screen = open(command({"run", "z", "--and", "b", "--", "echo", "my turn"}));
  EXPECT_TRUE(screen.shows("next in the queue; 'b' is held by holdfast run (sh) on "));
  first->signal(SIGTERM);
  EXPECT_TRUE(screen.shows("next in the queue; 'z' is held by holdfast run (sh) on "));
  last->signal(SIGTERM);
  EXPECT_TRUE(screen.shows("my turn"));
  EXPECT_EQ(screen.wait(), 0);
}

TEST_F(on_terminal, nothing_of_that_without_one) {
  const auto holder = start_holder("x");
  auto waiter = start({"run", "x", "--", "true"});
  ASSERT_TRUE(waiters("x", 1));
  holder->signal(SIGTERM);
  EXPECT_EQ(waiter->wait().err, "");
}

TEST_F(on_terminal, ctrl_c_ends_a_wait) {
  const auto holder = start_holder("x");
  auto screen = open(command({"run", "x", "--", "true"}));
  EXPECT_TRUE(screen.shows("waiting"));
  screen.type("\x03");
  EXPECT_EQ(screen.wait(), 128 + SIGINT);
  EXPECT_TRUE(waiters("x", 0));
}

TEST_F(on_terminal, listings_are_coloured_unless_unwanted_or_piped) {
  const auto holder = start_holder("x");
  EXPECT_TRUE(open(command({"ls"})).shows(escape));
  for (const auto* unwanted : {"NO_COLOR=1", "TERM=dumb"}) {
    terminal plain{command({"ls"}), environment_with({unwanted, environment()[0]})};
    EXPECT_EQ(plain.wait(), 0);
    EXPECT_THAT(plain.rest(), HasSubstr("HOLDER"));
    EXPECT_THAT(plain.rest(), Not(HasSubstr(escape)));
  }
  EXPECT_THAT(holdfast({"ls"}).out, Not(HasSubstr(escape)));
  EXPECT_THAT(holdfast({"show", "x"}).out, Not(HasSubstr(escape)));
}

TEST_F(on_terminal, a_listing_is_cut_to_the_width_and_not_in_a_pipe) {
  const std::string name(120, 'n');
  const auto holder = start_holder(name);
  const std::string list = "stty cols 100; " HOLDFAST_COMMAND " ls";
  auto screen = open({"sh", "-c", list}, {"NO_COLOR=1"});
  EXPECT_EQ(screen.wait(), 0);
  const auto cut = screen.rest();
  EXPECT_THAT(cut, HasSubstr("n…  exclusive"));
  EXPECT_THAT(cut, HasSubstr("(sh) on "));
  auto piped = open({"sh", "-c", list + " | cat"}, {"NO_COLOR=1"});
  EXPECT_EQ(piped.wait(), 0);
  EXPECT_THAT(piped.rest(), HasSubstr(name + "  exclusive"));
}

TEST_F(on_terminal, the_command_reads_the_keyboard_in_the_foreground) {
  auto screen = open(command({"run", "x", "--", "sh", "-c", "read line; echo \"got <$line>\""}));
  screen.type("hello\n");
  EXPECT_TRUE(screen.shows("got <hello>"));
  EXPECT_EQ(screen.wait(), 0);
}

TEST_F(on_terminal, a_command_whose_output_goes_elsewhere_still_reads_the_keyboard) {
  auto screen =
      open({"sh", "-c", HOLDFAST_COMMAND " run x -- sh -c 'read line; echo \"got <$line>\"' | cat"});
  screen.type("hello\n");
  EXPECT_TRUE(screen.shows("got <hello>"));
  EXPECT_EQ(screen.wait(), 0);
}

TEST_F(on_terminal, ctrl_c_reaches_the_command) {
  auto screen = open(command({"run", "x", "--", "sh", "-c", "echo up; exec sleep 1000"}));
  EXPECT_TRUE(screen.shows("up"));
  screen.type("\x03");
  EXPECT_EQ(screen.wait(), 128 + SIGINT);
  EXPECT_FALSE(held("x"));
}

TEST_F(on_terminal, ctrl_z_stops_the_job_and_fg_goes_on_with_it) {
  auto shell = open({"bash", "--norc", "-i"}, {"PS1=> "});
  shell.type(std::string{HOLDFAST_COMMAND} +
             " run x -- sh -c 'echo u\"\"p; read line; echo \"got <$line>\"'\n");
  EXPECT_TRUE(shell.shows("up\r\n"));
  shell.type("\x1a");
  EXPECT_TRUE(shell.shows("Stopped"));
  EXPECT_EQ(shell.foreground(), shell.pid());
  shell.type("fg\n");
  EXPECT_TRUE(eventually([&] { return shell.foreground() != shell.pid(); }));
  shell.type("again\n");
  EXPECT_TRUE(shell.shows("got <again>"));
  EXPECT_TRUE(eventually([&] { return shell.foreground() == shell.pid(); }));
  shell.type("exit\n");
  EXPECT_EQ(shell.wait(), 0);
}

TEST_F(on_terminal, ctrl_z_is_nothing_where_no_shell_could_continue_the_job) {
  // The wrapper leads the session, as under `ssh -t`.
  auto screen = open(command({"run", "x", "--", "sh", "-c", "echo up; read line; echo \"got <$line>\""}));
  EXPECT_TRUE(screen.shows("up"));
  screen.type("\x1a");
  screen.type("on\n");
  EXPECT_TRUE(screen.shows("got <on>"));
  EXPECT_EQ(screen.wait(), 0);
}

}  // namespace
}  // namespace holdfast::test
