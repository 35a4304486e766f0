// SPDX-License-Identifier: Apache-2.0
// A command under a lease whose renewals the test makes.

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <pthread.h>
#include <stop_token>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <vector>

#include "exit_status.hpp"
#include "failure.hpp"
#include "process.hpp"
#include "run/child.hpp"
#include "run/guardian.hpp"
#include "run/lease_plan.hpp"
#include "run/program.hpp"
#include "run/supervisor.hpp"
#include "signal_inbox.hpp"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class supervised : public testing::Test {
 protected:
  supervised() : pipe_signal_{::signal(SIGPIPE, SIG_IGN)} {}
  ~supervised() override { ::signal(SIGPIPE, pipe_signal_); }

  /// The same signals as those that the process has.
  cli::inherited_signals inherited() { return {signals_.mask_before(), pipe_signal_}; }
  [[nodiscard]] std::string file(std::string_view name) const { return scratch_.file(name); }
  [[nodiscard]] bool exists(std::string_view name) const { return std::filesystem::exists(file(name)); }
  [[nodiscard]] static std::vector<std::string> environment() {
    return {std::string{"PATH="} + std::getenv("PATH")};
  }

  /// Runs a script under a lease that lasts for an hour, and is lost as soon as a background process of the
  /// script, which does not listen to SIGTERM, is ready.
  cli::ending run_until_lost(const std::string& script) {
    constexpr duration ttl = 1200ms;  // a sixth of it is between SIGTERM and SIGKILL
    std::stop_source lost;
    cli::hold held{};
    held.deadline = [deadline = boot_clock::now() + 1h] { return deadline; };
    held.lost = lost.get_token();
    const cli::program command{{"sh", "-c", "cd " + scratch_.path().string() + "; " + script}};
    cli::child_process child{command, environment(), inherited()};
    cli::guardian guard;
    cli::supervisor supervisor{held, ttl, child, guard, signals_, false, [](auto&, const auto&) {}};
    const std::jthread loss{[&] {
      EXPECT_TRUE(eventually([&] { return exists("ready"); }));
      lost.request_stop();
    }};
    return supervisor.run();
  }
  bool background_dies() {
    const pid_t pid = std::stoi(contents(file("pid")));
    return eventually([&] { return is_dead(pid); });
  }

  const std::string background_process =
      "sh -c 'trap \"\" TERM; echo $$ >pid; touch ready; while :; do sleep 0.05; done' & ";
  scratch_folder scratch_;
  void (*pipe_signal_)(int);
  cli::signal_inbox signals_{SIGCHLD, SIGWINCH};
};

/// Renewals are late, the command is asked to end, and the next renewal comes. The command does not end.
TEST_F(supervised, a_command_whose_lease_is_renewed_after_all_is_not_lost) {
  constexpr duration ttl = 36s;
  const auto kill_delay = cli::kill_delay_of(ttl);
  std::optional<boot_clock::time_point> late;
  std::optional<boot_clock::time_point> renewed_at;
  bool is_over = false;
  cli::hold held{};
  held.deadline = [&] {
    const auto now = boot_clock::now();
    if (!exists("ready")) return now + 1h;
    if (!late) late = now + kill_delay;
    if (!exists("asked")) return *late;
    if (!renewed_at) renewed_at = now;
    // The supervisor has to have looked at a time that is late enough: the look before this one was.
    if (is_over) write_file(file("go"), "");
    is_over = now > *renewed_at + kill_delay;
    return now + 1h;
  };
  const cli::program command{{"sh", "-c",
                              "trap '' TERM; sleep 1000 & echo $! >" + file("pid") + "; trap 'touch " +
                                  file("asked") + "' TERM; touch " + file("ready") + "; while [ ! -e " +
                                  file("go") + " ]; do sleep 0.05; done"}};
  cli::child_process child{command, environment(), inherited()};
  cli::guardian guard;
  cli::supervisor supervisor{held, ttl, child, guard, signals_, false, [](auto&, const auto&) {}};
  // Looks often, as a terminal that is resized makes it. The command does not mind.
  const std::jthread looks{[to = ::pthread_self()](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      ::pthread_kill(to, SIGWINCH);
      std::this_thread::sleep_for(20ms);
    }
  }};
  const auto end = supervisor.run();
  EXPECT_EQ(end.status, 0);
  EXPECT_TRUE(exists("asked"));
  EXPECT_FALSE(end.lost);
  const pid_t background = std::stoi(contents(file("pid")));
  EXPECT_FALSE(is_dead(background));
  ::kill(background, SIGKILL);
}

/// The deadline is an hour away: what is killed, is killed because its time after the SIGTERM is up.
TEST_F(supervised, a_command_that_does_not_listen_is_killed_long_before_the_deadline) {
  const auto end = run_until_lost("trap '' TERM; " + background_process + "while :; do sleep 0.05; done");
  EXPECT_EQ(end.status, 128 + SIGKILL);
  EXPECT_TRUE(end.lost);
  EXPECT_TRUE(background_dies());
}

TEST_F(supervised, the_rest_of_a_group_is_killed_long_before_the_deadline) {
  const auto end = run_until_lost(background_process + "exec sleep 1000");
  EXPECT_EQ(end.status, 128 + SIGTERM);
  EXPECT_TRUE(end.lost);
  EXPECT_TRUE(background_dies());
}

TEST(lease_plan, the_command_is_dead_before_the_deadline) {
  for (const duration ttl : {duration{100ms}, duration{1s}, duration{6s}, duration{20s}, duration{1h}}) {
    const boot_clock::time_point deadline{10h};
    const auto late = cli::plan_for(deadline, ttl, std::nullopt);
    EXPECT_EQ(late.term_at, deadline - cli::kill_delay_of(ttl));
    EXPECT_LT(late.term_at, late.kill_at);
    EXPECT_LT(late.kill_at, deadline);
    const auto soon = deadline - ttl;
    const auto lost = cli::plan_for(deadline, ttl, soon);
    EXPECT_EQ(lost.term_at, soon) << "at once";
    EXPECT_EQ(lost.kill_at, soon + cli::kill_delay_of(ttl));
    const auto lost_late = cli::plan_for(deadline, ttl, deadline - 1ms);
    EXPECT_EQ(lost_late.kill_at, late.kill_at) << "no later than without the loss";
  }
  EXPECT_EQ(cli::kill_delay_of(1h), 10s);
  EXPECT_EQ(cli::kill_delay_of(6s), 1s);
}

/// As in a container, where the wrapper is the first process.
TEST_F(supervised, a_command_leaves_no_zombies_to_the_parent_of_orphans) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const cli::program command{{"sh", "-c",
                              "for each in 1 2 3; do\n"
                              "  (sh -c 'echo $$ >$D/new; mv $D/new $D/orphan'$each'; exec sleep 1000' &)\n"
                              "  until [ -e $D/orphan$each ]; do sleep 0.01; done\n"
                              "done\n"
                              "touch $D/ready\n"
                              "until [ -e $D/go ]; do sleep 0.01; done"}};
  cli::hold held{};
  held.deadline = [] { return boot_clock::now() + 1h; };
  auto variables = environment();
  variables.push_back("D=" + scratch_.path().string());
  cli::child_process child{command, variables, inherited()};
  cli::guardian guard;
  cli::supervisor supervisor{held, 30s, child, guard, signals_, false, [](auto&, const auto&) {}};
  std::vector<pid_t> left;
  const std::jthread test{[&] {
    if (eventually([&] { return exists("ready"); })) {
      for (const char* each : {"orphan1", "orphan2", "orphan3"}) {
        const pid_t orphan = std::stoi(contents(file(each)));
        ::kill(orphan, SIGKILL);
        if (!eventually([&] { return !state_of(orphan); })) left.push_back(orphan);
      }
    }
    write_file(file("go"), "");
  }};
  EXPECT_EQ(supervisor.run().status, 0);
  EXPECT_THAT(left, testing::IsEmpty()) << "they are zombies";
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST_F(supervised, a_command_that_cannot_be_executed_keeps_its_group_until_the_guardian_has_ended) {
  write_file(file("job"), "#!/no/such/interpreter\n");
  std::filesystem::permissions(file("job"), std::filesystem::perms::owner_all);
  const cli::program command{{file("job")}};
  cli::child_process child{command, environment(), inherited()};
  const pid_t pid = child.group();
  EXPECT_THROW(child.start(), cli::failure);
  EXPECT_EQ(child.group(), pid);
  EXPECT_TRUE(eventually([&] { return state_of(pid) == 'Z'; })) << "its number may be another's";
}

}  // namespace
}  // namespace holdfast::test
