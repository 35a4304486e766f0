// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "fixture.hpp"
#include <holdfast/holdfast.hpp>

namespace holdfast::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class completion : public command_test {
 protected:
  /// What bash offers if readline has set its variables so.
  std::string bash_offers_with(const std::string& variables) {
    write_file(file("completion.bash"), holdfast({"completion", "bash"}).out);
    const std::string script =
        "source $D/completion.bash; " + variables + "; _holdfast; printf '%s\n' \"${COMPREPLY[@]}\"";
    process bash{scratch_, {"bash", "--norc", "-c", script}, {environment(), ""}};
    const auto said = bash.wait();
    EXPECT_EQ(said.err, "");
    return said.out;
  }
  /// What it offers after this line; the last word is being typed.
  std::string bash_offers(const strings& line) {
    std::string words = "COMP_WORDS=(" HOLDFAST_COMMAND;
    for (const auto& word : line) words += " '" + word + "'";
    return "\n" + bash_offers_with(words + "); COMP_CWORD=" + std::to_string(line.size()));
  }
};

TEST_F(completion, knows_commands_options_and_choices) {
  EXPECT_THAT(bash_offers({""}), HasSubstr("\nrelease\n"));
  EXPECT_THAT(bash_offers({"re"}), Not(HasSubstr("\nrun\n")));
  EXPECT_THAT(bash_offers({"run", "--"}), HasSubstr("\n--permits\n"));
  EXPECT_THAT(bash_offers({"ls", "--"}), HasSubstr("\n--all\n"));
  EXPECT_THAT(bash_offers({"schema", "--"}), HasSubstr("\n--apply\n"));
  EXPECT_THAT(bash_offers({"serve", "--"}), HasSubstr("\n--allow-release\n"));
  EXPECT_THAT(bash_offers({"serve", "--secret-file", file("completion.b")}),
              HasSubstr(file("completion.bash") + "\n"));
  EXPECT_THAT(bash_offers({"fence", file("completion.b")}), HasSubstr(file("completion.bash") + "\n"));
  EXPECT_THAT(bash_offers({"bench", "h"}), HasSubstr("\nhandoff\nheld\n"));
  EXPECT_THAT(bash_offers({"completion", ""}), HasSubstr("\nfish\n"));
}

TEST_F(completion, offers_names_as_words_and_never_expands_them) {
  const std::string hostile = "$(touch $D/wrong) `touch $D/wrong`";
  holdfast({"run", "nightly", "--", "true"});
  holdfast({"run", hostile, "--", "true"});
  {
    client locks{store()};
    mutex{locks, "--force"}.acquire().release();
  }
  const auto offered = bash_offers({"show", ""});
  EXPECT_THAT(offered, HasSubstr("\nnightly\n"));
  EXPECT_THAT(offered, Not(HasSubstr("--force")));
  EXPECT_THAT(offered, HasSubstr("\\$\\(touch"));
  EXPECT_FALSE(std::filesystem::exists(file("wrong")));
}

TEST_F(completion, asks_the_store_that_stands_on_the_line) {
  const auto other = "sqlite:" + file("other.db");
  holdfast({"run", "elsewhere", "--store", other, "--", "true"});
  holdfast({"run", "here", "--", "true"});
  for (const auto& option : {"--store " + other, "--store=" + other}) {
    // As readline has it: COMP_WORDS is split at colons and equals signs, COMP_LINE is not.
    EXPECT_EQ(bash_offers_with("COMP_LINE='holdfast show " + option +
                               " '; COMP_POINT=${#COMP_LINE}; COMP_WORDS=(" HOLDFAST_COMMAND
                               " show --store sqlite : /x ''); COMP_CWORD=6"),
              "elsewhere\n")
        << option;
  }
}

TEST_F(completion, goes_on_with_names_that_are_quoted_or_have_colons) {
  for (const std::string name : {"night run", "jobs:nightly", "a\"b $c", "x!!"}) {
    EXPECT_EQ(holdfast({"run", name, "--", "true"}).status, 0);
  }
  struct typed {
    std::string line;  // what readline has as the last word of it follows
    std::string word;
    std::string offered;
  };
  for (const auto& each : {typed{"\"nig", "\"nig", "night run"},            //
                           typed{"'night r", "'night r", "night run"},      //
                           typed{"night\\ r", "night\\ r", "night\\ run"},  //
                           typed{"\"a", "\"a", "a\\\"b \\$c"},              //
                           typed{"'a", "'a", "a\"b $c"},                    //
                           typed{"jobs:n", "n", "nightly"},                 //
                           typed{"jobs:", ":", "nightly"},                  //
                           typed{"jobs:\"n", "\"n", ""},                    //
                           typed{"x\\ jobs:n", "n", ""},                    //
                           typed{"\"x", "\"x", ""}}) {
    write_file(file("line"), "holdfast show " + each.line);
    write_file(file("word"), each.word);
    EXPECT_EQ(
        bash_offers_with("COMP_LINE=$(<$D/line); COMP_POINT=${#COMP_LINE}; COMP_WORDS=(" HOLDFAST_COMMAND
                         " show \"$(<$D/word)\"); COMP_CWORD=2"),
        each.offered + "\n")
        << each.line;
  }
}

TEST_F(completion, of_a_value_offers_no_name) {
  EXPECT_EQ(holdfast({"run", "nightly", "--", "true"}).status, 0);
  for (const std::string previous : {"--wait", "--permits", "-E", "run"}) {
    EXPECT_EQ(bash_offers_with("COMP_LINE='holdfast run " + previous +
                               " '; COMP_POINT=${#COMP_LINE}; COMP_WORDS=(" HOLDFAST_COMMAND " run " +
                               previous + " ''); COMP_CWORD=3"),
              previous == "run" ? "nightly\n" : "\n")
        << previous;
  }
}

TEST_F(completion, has_no_syntax_error) {
  for (const auto* shell : {"bash", "zsh", "fish"}) {
    write_file(file(shell), holdfast({"completion", shell}).out);
    process check{scratch_, {shell, "-n", file(shell)}, {}};
    const auto said = check.wait();
    EXPECT_EQ(said.status, 0) << shell << ": " << said.err;
  }
}

TEST_F(completion, of_the_others_covers_every_command) {
  for (const auto* shell : {"zsh", "fish"}) {
    const auto script = holdfast({"completion", shell});
    EXPECT_EQ(script.status, 0);
    for (const auto* word : {"run", "show", "permits", "password-file", "handoff", "conflict-exit-code"}) {
      EXPECT_THAT(script.out, HasSubstr(word)) << shell;
    }
    EXPECT_THAT(script.out, Not(HasSubstr("__contender"))) << shell;
  }
}

/// A colon begins the next part of an option there.
TEST_F(completion, of_zsh_has_whole_names_of_values) {
  EXPECT_THAT(holdfast({"completion", "zsh"}).out, HasSubstr(":ADDRESS\\:PORT: '"));
}

}  // namespace
}  // namespace holdfast::test
