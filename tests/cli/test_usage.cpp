// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <gmock/gmock.h>
#include <ostream>

#include "fixture.hpp"
#include <holdfast/holdfast.hpp>

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class usage : public command_test {};

TEST_F(usage, version_names_the_stores) {
  const auto said = holdfast({"--version"});
  EXPECT_EQ(said.status, 0);
  EXPECT_THAT(said.out, StartsWith("holdfast "));
  EXPECT_THAT(said.out, HasSubstr("sqlite"));
}

TEST_F(usage, help_explains_every_command) {
  EXPECT_THAT(holdfast({"--help"}).out, HasSubstr("watch"));
  EXPECT_THAT(holdfast({"help"}).out, HasSubstr("HOLDFAST_STORE"));
  for (const auto* command : {"run", "fence", "ls", "show", "wait", "release", "watch", "serve", "schema",
                              "bench", "completion", "help"}) {
    const auto by_command = holdfast({"help", command});
    const auto by_flag = holdfast({command, "--help"});
    EXPECT_EQ(by_command.status, 0) << command;
    EXPECT_EQ(by_flag.status, 0) << command;
    EXPECT_EQ(by_command.out, by_flag.out);
    EXPECT_THAT(by_command.out, HasSubstr("Usage: holdfast"));
  }
  EXPECT_THAT(holdfast({"help", "run"}).out,
              AllOf(HasSubstr("-- COMMAND"), HasSubstr("Example: holdfast run ")));
}

TEST_F(usage, store_options_may_stand_before_the_command) {
  const auto other = "sqlite:" + file("other.db");
  EXPECT_EQ(holdfast({"run", "x", "--store", other, "--", "true"}).status, 0);
  for (const auto& line : {strings{"--store", other, "--json", "ls", "--all"},
                           strings{"--json", "--store=" + other, "ls", "--all"}}) {
    const auto said = holdfast(line);
    EXPECT_EQ(said.status, 0) << said.err;
    EXPECT_EQ(parse_lines(said.out).size(), 1U);
  }
  EXPECT_EQ(holdfast({"--store", other, "run", "x", "--", "sh", "-c", "exit 5"}).status, 5);
}

TEST_F(usage, too_few_descriptors_are_an_error_that_names_the_limit) {
  const auto ended = process{
      scratch_,
      {"sh", "-c", "ulimit -n 8; exec " HOLDFAST_COMMAND " ls --store redis://127.0.0.1:1"},
      {}}.wait();
  EXPECT_EQ(ended.status, 69);
  EXPECT_THAT(ended.err, HasSubstr("(ulimit -n)"));
}

TEST_F(usage, a_password_file_that_is_a_folder_is_called_so) {
  const auto said = holdfast({"ls", "--password-file", scratch_.path().string()});
  EXPECT_EQ(said.status, 64);
  EXPECT_THAT(said.err, HasSubstr("Is a directory"));
}

struct bad_line {
  strings arguments;
  std::string says;
};

/// For reports of failures.
void PrintTo(const bad_line& line, std::ostream* out) {
  for (const auto& argument : line.arguments) *out << '<' << argument << '>';
}

class bad_usage : public command_test, public testing::WithParamInterface<bad_line> {};

TEST_P(bad_usage, is_refused_with_64_and_a_sentence) {
  const auto said = holdfast(GetParam().arguments);
  EXPECT_EQ(said.status, 64);
  EXPECT_EQ(said.out, "");
  EXPECT_THAT(said.err, StartsWith("holdfast: "));
  EXPECT_THAT(said.err, HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    lines, bad_usage,
    testing::Values(
        bad_line{{}, "no command is given"}, bad_line{{"frobnicate"}, "no command 'frobnicate'"},
        bad_line{{"-v"}, "there is no option '-v'"}, bad_line{{"--store"}, "no command is given"},
        bad_line{{"ls", "--store"}, "--store needs a value"}, bad_line{{"run"}, "NAME"},
        bad_line{{"run", "x"}, "no command to run is given"},
        bad_line{{"run", "x", "--"}, "no command to run is given"}, bad_line{{"run", "x", "true"}, "put --"},
        bad_line{{"run", "x", "--timeout", "5", "--", "true"}, "--timeout"},
        bad_line{{"ls", "--timeout", "5"}, "unexpected arguments: --timeout 5"},
        bad_line{{"run", "x", "--wait", "soon", "--", "true"}, "'soon' is not a duration"},
        bad_line{{"run", "x", "--wait", "5parsecs", "--", "true"}, "--wait"},
        bad_line{{"run", "x", "--wait", "", "--", "true"}, "not a duration"},
        bad_line{{"run", "x", "--wait", "1h30", "--", "true"}, "'1h30' is not a duration"},
        bad_line{{"run", "x", "--ttl", "1ms", "--", "true"}, "ttl"},
        bad_line{{"run", "x", "--permits", "3", "--", "true"}, "1/4"},
        bad_line{{"run", "x", "--permits", "5/4", "--", "true"}, "'5/4'"},
        bad_line{{"run", "x", "--permits", "1/4", "--shared", "--", "true"}, "--shared"},
        bad_line{{"run", "x\ny", "--", "true"}, ""}, bad_line{{"run", "", "--", "true"}, ""},
        bad_line{{"run", "job", "--and", "job", "--", "true"}, "--and: the name 'job' is given twice"},
        bad_line{{"elect", "x", "--value", "", "--", "true"}, "--value: the value is empty"},
        bad_line{{"elect", "x", "--value", std::string(5000, 'x'), "--", "true"}, "at most 4096 bytes"},
        bad_line{{"elect", "x"}, "no command to run is given"}, bad_line{{"leader"}, "NAME is required"},
        bad_line{{"elect", "x", "--at-least", "1s", "--", "true"}, "unexpected arguments: --at-least 1s"},
        bad_line{{"run", "x", "--at-least", "2d", "--", "true"}, "'2d' is not between 0 and 24h"},
        bad_line{{"run", "x", "--grace", "2h", "--", "true"}, "'2h' is not between 0 and 1h"},
        bad_line{{"run", "x", "--on-request", "KILL", "--", "true"}, "'KILL' is not a signal"},
        // Dashes behind which there would be a command, but no name before them.
        bad_line{{"run", "--", "echo", "--", "backup"}, "NAME is required"},
        bad_line{{"run", "-qE", "5", "--", "echo", "--", "x"}, "NAME is required"},
        bad_line{{"run", "--", "-n", "echo", "--", "x"}, "NAME is required"},
        bad_line{{"elect", "--once", "--", "echo", "--", "backup"}, "NAME is required"},
        bad_line{{"fence"}, "FILE is required"}, bad_line{{"fence", "f"}, "no command to run is given"},
        bad_line{{"fence", "f", "true"}, "put -- between the file and the command"},
        bad_line{{"fence", "f", "--token", "x", "--", "true"}, "--token: 'x' is not a number above 0"},
        bad_line{{"fence", "f", "--wait", "x", "--", "true"}, "'x' is not a duration"},
        bad_line{{"show", std::string(600, 'n')}, ""}, bad_line{{"show", "\xff\xfe"}, ""},
        bad_line{{"show"}, "NAME"}, bad_line{{"ls", "--store", "gopher://x"}, "gopher"},
        bad_line{{"ls", "--store", "memory:", "--store", "memory:"}, "--store is given more than once"},
        bad_line{{"ls", "--store", ""}, "--store: the URL is empty"}, bad_line{{"ls", "--frob"}, "--frob"},
        bad_line{{"release", "x"}, "--force"},
        bad_line{{"release", "x", "--ask", "--force"}, "release takes --ask or --force, not both"},
        bad_line{{"release", "x", "--force", "--reason", "why"}, "--reason goes with --ask"},
        bad_line{{"release", "x", "--ask", "--reason", "two\nlines"}, "the control character 0x0a"},
        bad_line{{"release", "x", "--ask", "--reason", std::string(201, 'x')}, "at most 200 bytes"},
        bad_line{{"why"}, "the name of a lock, or --all"},
        bad_line{{"why", "x", "--all"}, "the name of a lock, or --all"},
        bad_line{{"ls", "--password-file", "/does/not/exist"}, "/does/not/exist"},
        bad_line{{"bench", "frob"}, "pair, term, spread, handoff, idle or held"},
        bad_line{{"bench", "pair", "--processes", "2"}, "--processes"},
        bad_line{{"bench", "term", "--names", "2"}, "'term' does not take --names"},
        bad_line{{"bench", "handoff", "--store", "memory:"}, "share"},
        bad_line{{"schema", "sqlite:locks.db"}, "has no schema"},
        bad_line{{"schema", "sqlite:locks.db", "--apply"}, "has no schema"},
        bad_line{{"schema", "memory:", "--fences"}, "has no fences"},
        bad_line{{"schema", "redlock://a,b,c", "--fences"}, "has no fences"},
        bad_line{{"schema", "postgresql://x/y?grant_look=z", "--fences"}, "grant_look"},
        bad_line{{"schema", ""}, "the URL is empty"}, bad_line{{"schema", "gopher://x"}, "gopher"},
        bad_line{{"schema", "sqlite:a", "--store", "sqlite:b"}, "URL excludes --store"},
        bad_line{{"schema", "postgresql://x/y?sslmode=foo"}, "'sslmode' is none of disable"},
        bad_line{{"completion", "tcsh"}, "bash, zsh or fish"}, bad_line{{"help", "frob"}, "frob"}));

TEST_F(usage, a_name_with_a_dash_comes_after_dashes_of_its_own) {
  for (const strings& options : {strings{}, strings{"--ttl", "20s"}, strings{"-q", "-E", "5", "--label=x"},
                                 strings{"-qE", "5"}, strings{"-qE5"}}) {
    strings line{"run"};
    line.insert(line.end(), options.begin(), options.end());
    line.insert(line.end(), {"--", "-dash", "--", "sh", "-c", "echo \"$HOLDFAST_NAME $*\"", "sh", "--", "x"});
    const auto said = holdfast(line);
    EXPECT_EQ(said.status, 0) << said.err;
    EXPECT_EQ(said.out, "-dash -- x\n");
  }
  EXPECT_EQ(holdfast({"elect", "--once", "--", "-dash", "--", "true"}).status, 0);
  // Behind a name, all after the first dashes is the command's.
  EXPECT_EQ(holdfast({"run", "--wait", "5s", "x", "--", "echo", "--", "true"}).out, "-- true\n");
}

TEST_F(usage, durations_are_written_alike_in_options_and_in_urls) {
  EXPECT_EQ(
      holdfast({"run", "x", "--ttl", "1h30m", "--store", store() + "?keep_idle=1h30m", "--", "true"}).status,
      0);
  const auto refused = holdfast({"ls", "--store", store() + "?keep_idle=1h30"});
  EXPECT_EQ(refused.status, 64);
  EXPECT_THAT(refused.err, HasSubstr("'keep_idle' is not a duration"));
}

TEST_F(usage, help_has_what_a_script_needs) {
  EXPECT_THAT(holdfast({"top", "--help"}).out, Not(HasSubstr("--json")));
  EXPECT_THAT(holdfast({"ls", "--help"}).out, HasSubstr("--json"));
  for (const auto* command : {"wait", "watch", "leader", "release"})
    EXPECT_THAT(holdfast({command, "--help"}).out, HasSubstr("The exit status")) << command;
}

TEST_F(usage, what_an_error_quotes_makes_no_line_of_its_own) {
  for (const strings& line : {strings{"run", "x", "--", "/no/such\x1b[31m\ncmd"}, strings{"frob\nnicate"},
                              strings{"show", "a\nb"}, strings{"ls", "--store", "gopher:\nx"},
                              strings{"run", "x", "--wait", "1\n2", "--", "true"}, strings{"ls", "a\nb"}}) {
    const auto said = holdfast(line);
    EXPECT_NE(said.status, 0);
    EXPECT_EQ(std::ranges::count(said.err, '\n'), 1) << said.err;
    EXPECT_THAT(said.err, Not(HasSubstr("\x1b")));
  }
  EXPECT_THAT(holdfast({"run", "x", "--", "/no/such\ncmd"}).err, HasSubstr("'/no/such\\x0acmd'"));
}

TEST_F(usage, errors_are_json_on_request) {
  const auto said = holdfast({"show", "", "--json"});
  EXPECT_EQ(said.status, 64);
  const auto lines = parse_lines(said.err);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0]["status"], 64);
  EXPECT_FALSE(lines[0]["error"].get<std::string>().empty());
  EXPECT_EQ(parse_lines(holdfast({"frobnicate", "--json"}).err).size(), 1U);
}

TEST_F(usage, an_output_that_cannot_be_written_is_a_failure) {
  process shell{scratch_, {"sh", "-c", HOLDFAST_COMMAND " --version >/dev/full"}, {}};
  const auto said = shell.wait();
  EXPECT_EQ(said.status, 74);
  EXPECT_THAT(said.err, HasSubstr("No space left"));
}

TEST_F(usage, an_output_that_breaks_off_in_its_middle_is_a_failure) {
  client locks{store()};
  // More than any buffer of the standard output, so that it is full long before the end.
  for (int each = 0; each < 40; ++each) {
    mutex(locks, std::string(500, 'n') + std::to_string(each)).acquire().release();
  }
  const std::string list = HOLDFAST_COMMAND " ls --all --store " + store();
  EXPECT_GT(process(scratch_, {"sh", "-c", list}, {}).wait().out.size(), 20'000U);
  process shell{scratch_, {"sh", "-c", list + " >/dev/full"}, {}};
  const auto said = shell.wait();
  EXPECT_EQ(said.status, 74);
  EXPECT_THAT(said.err, HasSubstr("No space left"));
}

TEST_F(usage, a_closed_output_is_no_file_of_the_store) {
  const auto ends_as = [this](const std::string& line) {
    process shell{scratch_, {"sh", "-c", HOLDFAST_COMMAND " " + line + " --store " + store() + " >&-"}, {}};
    return shell.wait();
  };
  EXPECT_EQ(holdfast({"run", "x", "--", "true"}).status, 0);
  for (const auto* line : {"ls --all", "ls --all --json", "show x --json"}) {
    const auto said = ends_as(line);
    EXPECT_EQ(said.status, 74) << line;
    EXPECT_THAT(said.err, HasSubstr("Bad file descriptor")) << line;
  }
}

TEST_F(usage, a_standard_error_that_cannot_be_written_changes_no_status) {
  const auto status_of = [this](const std::string& rest) {
    process shell{scratch_, {"sh", "-c", HOLDFAST_COMMAND " " + rest}, {}};
    return shell.wait().status;
  };
  const std::string store = " --store sqlite:" + file("locks.db");
  EXPECT_EQ(status_of("run x --json" + store + " -- sh -c 'exit 3' 2>/dev/full"), 3);
  EXPECT_EQ(status_of("run x --json" + store + " -- true 2>&-"), 0);
  EXPECT_EQ(status_of("run x --no-such-option -- true 2>/dev/full"), 64);
}

TEST_F(usage, watch_ends_with_the_first_line_that_cannot_be_written) {
  const std::string place = "sqlite:" + file("locks.db");
  const std::string store = " --store " + place;
  EXPECT_EQ(holdfast({"ls", "--store", place}).status, 0);  // makes the file
  process watcher{scratch_, {"sh", "-c", HOLDFAST_COMMAND " watch" + store + " >/dev/full"}, {}};
  // As many changes as it takes until it looks.
  process changes{
      scratch_, {"sh", "-c", "while " HOLDFAST_COMMAND " run x" + store + " -- true; do :; done"}, {}};
  EXPECT_EQ(watcher.wait().status, 74);
}

TEST_F(usage, watches_end_with_the_reader_of_their_output) {
  const auto holder = start_holder("x");
  for (const auto* line : {"watch", "watch x", "leader x --watch"}) {
    // Nothing changes: the one line that is read is that of what there is already.
    const auto pipe = std::string{"{ " HOLDFAST_COMMAND " "} + line + " --store " + store() + "; echo $? >" +
                      file("status") + "; } | head -n 1";
    process shell{scratch_, {"sh", "-c", pipe}, {}};
    EXPECT_EQ(shell.wait().status, 0) << line;
    EXPECT_THAT(contents(file("status")), AnyOf("141\n", "74\n")) << line;  // 74 where SIGPIPE is ignored
  }
}

TEST_F(usage, a_default_store_that_cannot_be_used_is_called_the_default) {
  write_file(file("no-folder"), "");
  process::settings nowhere{{"HOLDFAST_STORE=", "XDG_STATE_HOME=" + file("no-folder")}, ""};
  const auto said = holdfast({"run", "x", "--", "true"}, nowhere);
  EXPECT_NE(said.status, 0);
  EXPECT_THAT(said.err, AllOf(HasSubstr("default store"), HasSubstr("HOLDFAST_STORE")));
  nowhere.environment.front() = "HOLDFAST_STORE=sqlite:" + file("no-folder") + "/locks.db";
  EXPECT_THAT(holdfast({"run", "x", "--", "true"}, nowhere).err, Not(HasSubstr("default store")));
}

/// As over ssh or sudo, where HOLDFAST_STORE is not set: the lock that is meant is in another store.
TEST_F(usage, a_lock_that_is_free_in_the_default_store_is_said_to_be_so_there) {
  const auto holder = start_holder("x");
  const process::settings forgotten{{"HOLDFAST_STORE="}, ""};
  const std::string where = "on sqlite: (the default store";
  const auto is_told = [&](const strings& line) {
    const auto said = holdfast(line, forgotten);
    EXPECT_THAT(said.out + said.err, AllOf(HasSubstr(where), HasSubstr("HOLDFAST_STORE is not set")))
        << line.front();
    EXPECT_THAT(holdfast(line).out, Not(HasSubstr("default store"))) << line.front();
  };
  is_told({"show", "x"});
  is_told({"why", "x"});
  is_told({"why", "--all"});
  is_told({"release", "--ask", "x"});
  is_told({"leader", "x"});
  // Of a lock that the default store knows nobody has to be warned.
  EXPECT_EQ(holdfast({"run", "known", "--", "true"}, forgotten).status, 0);
  EXPECT_EQ(holdfast({"wait", "known"}, forgotten).err, "");
  const auto unknown = holdfast({"wait", "x"}, forgotten);
  EXPECT_EQ(unknown.status, 0);
  EXPECT_THAT(unknown.err, HasSubstr("nobody has used the lock 'x' " + where));
}

TEST_F(usage, a_store_that_cannot_be_is_unavailable_or_forbidden) {
  write_file(file("no-database"), std::string(4096, 'x'));
  EXPECT_EQ(holdfast({"ls", "--store", "sqlite:" + file("no-database")}).status, 69);
  EXPECT_EQ(contents(file("no-database")), std::string(4096, 'x'));
}

TEST_F(usage, no_secret_is_ever_shown) {
  constexpr auto secret = "correct-horse";
  const std::string url = "redis://alice:correct-horse@localhost:1/0";
  write_file(file("password"), "correct-horse\n");
  const process::settings from_environment{{"HOLDFAST_STORE=" + url, "HOLDFAST_PASSWORD=correct-horse"}, ""};
  const std::vector<strings> lines{{"ls"},
                                   {"ls", "--json"},
                                   {"ls", url},
                                   {"show", "x", url},
                                   {"run", "x", url, "--", "true"},
                                   {"run", "x", "--wait", "0", "--json", "--", "true"},
                                   {"ls", "--password-file", file("password")},
                                   {"ls", "--frob=" + url},
                                   {url},
                                   {"ls", "--password=correct-horse"},
                                   {"ls", "--password", "correct-horse"},
                                   {"ls", "--password", "--correct-horse"},
                                   {"ls", "unix:/run/redis.sock?password=correct-horse"},
                                   {"unix:/run/redis.sock?password=correct-horse", "ls"},
                                   {"help", "unix:/run/redis.sock?password=correct-horse"},
                                   {"bench", url},
                                   {"bench", "pair", "--store", url},
                                   {"schema", url},
                                   {"schema", "--apply"},
                                   {"watch", "--json"}};
  // At once: most of them wait for a server until their wait_limit ends.
  std::vector<std::unique_ptr<process>> all;
  all.reserve(lines.size());
  for (const auto& line : lines) all.push_back(start(line, from_environment));
  for (std::size_t each = 0; each < lines.size(); ++each) {
    const auto said = all[each]->wait();
    EXPECT_NE(said.status, 0) << lines[each].front();
    EXPECT_THAT(said.out + said.err, Not(HasSubstr(secret))) << lines[each].front();
  }
}

}  // namespace
}  // namespace holdfast::test
