// SPDX-License-Identifier: Apache-2.0
// `holdfast why`: who holds up a lock, to the end of the chain, and deadlocks.

#include <algorithm>
#include <filesystem>
#include <gmock/gmock.h>

#include "fixture.hpp"
#include "output/shell.hpp"

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

class explanations : public command_test {
 protected:
  /// One command within another, each with a lock, and waits until the outer one holds.
  std::unique_ptr<process> start_nested(const std::string& outer, const std::string& inner) {
    return start_holder(outer, {}, std::string{"exec "} + HOLDFAST_COMMAND + " run " + inner + " -- true");
  }
  /// Two processes that wait for each other. The second has the lock of this name, which was granted last.
  void lock_up(const std::string& name) {
    first_ = start_holder("b", {},
                          std::string{"until [ -e $D/both ]; do sleep 0.05; done; exec "} + HOLDFAST_COMMAND +
                              " run zz \"--and=" + name + "\" -- true");
    // The command takes a name with a dash only so.
    second_ =
        start_holder("+a", {"--and=" + name}, std::string{"exec "} + HOLDFAST_COMMAND + " run b -- true");
    ASSERT_TRUE(waiters("b", 1));
    write_file(file("both"), "");
    ASSERT_TRUE(eventually([&] { return holdfast({"why", "--all"}).status == 2; }));
  }
  json explanation(const strings& arguments, int status) {
    strings all{"why", "--json"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const auto run = holdfast(all);
    EXPECT_EQ(run.status, status) << run.err;
    const auto lines = parse_lines(run.out);
    return lines.size() == 1 ? lines.front() : json{};
  }

  std::unique_ptr<process> first_;
  std::unique_ptr<process> second_;
};

TEST_F(explanations, show_ten_waits_of_a_process_and_count_the_others) {
  strings others;
  for (int each = 2; each <= 12; ++each) others.push_back("--and=w" + std::to_string(each));
  const auto holder_of_all = start_holder("w1", others);
  const auto busy = start_holder("a", {},
                                 std::string{"for i in 1 2 3 4 5 6 7 8 9 10 11 12; do "} + HOLDFAST_COMMAND +
                                     " run w$i -- true & done; wait");
  for (int each = 1; each <= 12; ++each) ASSERT_TRUE(waiters("w" + std::to_string(each), 1));

  const auto answer = holdfast({"why", "a"});
  EXPECT_EQ(answer.status, 0) << answer.err;
  std::size_t shown = 0;
  for (auto at = answer.out.find("has waited for"); at != std::string::npos;
       at = answer.out.find("has waited for", at + 1))
    ++shown;
  EXPECT_EQ(shown, 10U) << answer.out;
  EXPECT_THAT(answer.out, HasSubstr("and 2 waits more"));
  EXPECT_EQ(explanation({"a"}, 0)["chain"][0]["holders"][0]["waits_for"].size(), 12U);
}

TEST_F(explanations, follows_the_chain_to_its_end) {
  const auto last = start_holder("c");
  const auto middle = start_nested("b", "c");
  ASSERT_TRUE(waiters("c", 1));
  const auto first = start_nested("a", "b");
  ASSERT_TRUE(waiters("b", 1));

  const auto found = explanation({"a"}, 0);
  ASSERT_EQ(found["chain"].size(), 3U);
  EXPECT_EQ(found["chain"][0]["name"], "a");
  EXPECT_EQ(found["chain"][0]["holders"][0]["waits_for"][0]["name"], "b");
  EXPECT_EQ(found["chain"][0]["holders"][0]["waits_for"][0]["place"], 1);
  EXPECT_EQ(found["chain"][1]["name"], "b");
  EXPECT_EQ(found["chain"][1]["waiters"], 1);
  EXPECT_THAT(show("b")["waiters"][0]["job"].get<std::string>(),
              EndsWith(" " + std::to_string(first->pid())));
  EXPECT_EQ(found["chain"][2]["name"], "c");
  EXPECT_EQ(found["chain"][2]["holders"][0]["pid"], last->pid());
  EXPECT_TRUE(found["chain"][2]["holders"][0]["waits_for"].empty());
  EXPECT_TRUE(found["deadlocks"].empty());

  const auto text = holdfast({"why", "a"}).out;
  EXPECT_THAT(text, AllOf(HasSubstr("whose command holdfast run (true) on "),
                          HasSubstr("has waited for b for "), HasSubstr("has waited for c for "),
                          HasSubstr("which waits for no lock of this store\n"), Not(HasSubstr("deadlock"))));
}

TEST_F(explanations, names_a_deadlock_with_its_locks_and_processes) {
  const auto bystander = start_holder("z");
  const auto first = start_holder(
      "a", {},
      std::string{"until [ -e $D/both ]; do sleep 0.05; done; exec "} + HOLDFAST_COMMAND + " run b -- true");
  const auto second = start_nested("b", "a");
  ASSERT_TRUE(waiters("a", 1));
  EXPECT_TRUE(explanation({"--all"}, 0)["deadlocks"].empty());
  write_file(file("both"), "");
  ASSERT_TRUE(waiters("b", 1));

  for (const strings& arguments : {strings{"a"}, strings{"b"}, strings{"--all"}}) {
    const auto found = explanation(arguments, 2)["deadlocks"];
    ASSERT_EQ(found.size(), 1U);
    ASSERT_EQ(found[0].size(), 4U);  // each of the two, and the command in it
    for (const auto& member : found[0]) {
      if (member["holds"].empty()) continue;
      ASSERT_EQ(member["holds"].size(), 1U);
      const bool is_first = member["pid"] == first->pid();
      EXPECT_TRUE(is_first || member["pid"] == second->pid()) << member;
      EXPECT_EQ(member["holds"][0]["name"], is_first ? "a" : "b");
      EXPECT_TRUE(member["waits_for"].empty());
      ASSERT_EQ(member["runs"].size(), 1U);
      const auto command = std::find_if(found[0].begin(), found[0].end(),
                                        [&](const json& other) { return other["pid"] == member["runs"][0]; });
      ASSERT_NE(command, found[0].end());
      ASSERT_EQ((*command)["waits_for"].size(), 1U);
      EXPECT_EQ((*command)["waits_for"][0]["name"], is_first ? "b" : "a");
    }
  }
  EXPECT_TRUE(explanation({"z"}, 0)["deadlocks"].empty());
  EXPECT_THAT(holdfast({"ls"}).out,
              HasSubstr("\ndeadlock among a, b: 'holdfast why --all' says what ends it\n"));

  // The advice ends it.
  const auto run = holdfast({"why", "--all"});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.out, AllOf(HasSubstr("deadlock of 4 processes"), HasSubstr(": holds a, runs the process "),
                             HasSubstr(": holds b, runs the process "), HasSubstr(": waits for a\n"),
                             HasSubstr(": waits for b\n")));
  const auto token = std::to_string(show("b")["holders"][0]["token"].get<std::int64_t>());
  const auto command = "holdfast release --force --token " + token + " -- 'b'";
  EXPECT_THAT(run.out, HasSubstr(command));
  const auto found = explanation({"--all"}, 2)["deadlocks"];
  for (const auto& member : found[0]) {
    for (const auto& hold : member["holds"]) {
      EXPECT_EQ(hold.contains("ends_deadlock"), hold["name"] == "b") << hold;
      EXPECT_EQ(hold.value("release_command", ""), hold["name"] == "b" ? command : "");
    }
  }
  EXPECT_EQ(holdfast({"release", "b", "--force", "--token", token}).status, 0);
  EXPECT_EQ(first->wait().status, 0);
  EXPECT_TRUE(explanation({"--all"}, 0)["deadlocks"].empty());
}

TEST_F(explanations, give_a_command_that_takes_no_name_for_an_option) {
  lock_up("--store=redis://it's.evil");
  const auto text = holdfast({"why", "--all"}).out;
  const auto begin = text.find("holdfast release --force");
  ASSERT_NE(begin, text.npos) << text;
  const auto command = text.substr(begin, text.find('\n', begin) - begin);
  EXPECT_THAT(command, EndsWith(R"( -- '--store=redis://it'\''s.evil')"));
  // Pasted into a shell, it ends the deadlock.
  auto settings = process::settings{.environment = environment()};
  const auto folder = std::filesystem::path{HOLDFAST_COMMAND}.parent_path().string();
  settings.environment.push_back("PATH=" + folder + ":/usr/bin:/bin");
  process shell{scratch_, {"sh", "-c", command}, settings};
  const auto said = shell.wait();
  EXPECT_EQ(said.status, 0) << said.err;
  EXPECT_EQ(said.out, "ended the hold of the lock '--store=redis://it's.evil'\n");
  EXPECT_EQ(first_->wait().status, 0);
}

TEST_F(explanations, give_a_command_that_reaches_the_store_that_was_chosen_from_any_folder) {
  lock_up("a");
  process relative{scratch_,
                   {"sh", "-c",
                    std::string{"cd \"$D\"; exec "} + HOLDFAST_COMMAND +
                        " why --all --store 'sqlite:locks.db?keep_idle=800h'"},
                   {.environment = environment()}};
  const auto said = relative.wait();
  EXPECT_THAT(said.out, HasSubstr(" --store 'sqlite:" + file("locks.db") + "?keep_idle=800h' -- 'a'\n"))
      << said.err;
  EXPECT_EQ(cli::store_options("redis://app:***@db", "/etc/it's"),
            R"(--store 'redis://app:***@db' --password-file '/etc/it'\''s' )");
  EXPECT_EQ(cli::store_options("", "/etc/secret"), "--password-file '/etc/secret' ");
}

TEST_F(explanations, give_no_command_with_a_name_that_does_not_show_as_it_is) {
  lock_up("invoice\u202egpj");
  const auto text = holdfast({"why", "--all"}).out;
  EXPECT_THAT(text, AllOf(HasSubstr(": that of invoice\\u{202e}gpj, token "),
                          HasSubstr("No command for it can be pasted"), Not(HasSubstr("holdfast release"))));
}

TEST_F(explanations, names_a_command_that_waits_for_the_command_around_it) {
  const auto nested = start_nested("a", "a");
  ASSERT_TRUE(waiters("a", 1));
  EXPECT_EQ(explanation({"a"}, 2)["deadlocks"].size(), 1U);
  EXPECT_THAT(holdfast({"why", "a"}).out, HasSubstr("deadlock of 2 processes"));
}

TEST_F(explanations, find_no_deadlock_of_commands_beside_one_another) {
  const std::string run = std::string{HOLDFAST_COMMAND} + " run link -- ";
  const auto job = start_holder("build", {}, run + "sleep 1000 & " + run + "sleep 1000 & wait");
  ASSERT_TRUE(waiters("link", 1));
  EXPECT_TRUE(explanation({"--all"}, 0)["deadlocks"].empty());
}

TEST_F(explanations, says_that_a_lock_is_free) {
  EXPECT_EQ(holdfast({"why", "a"}).out, "a: free\n");
  holdfast({"run", "a", "--", "true"});  // the store remembers its last token
  EXPECT_EQ(holdfast({"why", "a"}).out, "a: free\n");
  EXPECT_TRUE(explanation({"b"}, 0)["chain"].empty());
  EXPECT_EQ(holdfast({"why", "--all"}).out, "no deadlock among the 0 locks that are waited for\n");
}

}  // namespace
}  // namespace holdfast::test
