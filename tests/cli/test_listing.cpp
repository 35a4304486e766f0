// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sstream>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.hpp"
#include "output/text.hpp"

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class listing : public command_test {
 protected:
  static strings lines_of(const std::string& text) {
    strings lines;
    std::istringstream stream{text};
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
  }
};

TEST(mode_texts, say_of_how_many_permits_where_that_is_known) {
  claim_state claim;
  claim.mode = mode::permits;
  claim.permits = 1;
  EXPECT_EQ(cli::mode_text(claim, 4), "1 of 4 permits");
  EXPECT_EQ(cli::mode_text(claim, 0), "1 permit") << "of another library";
  claim.mode = mode::shared;
  EXPECT_EQ(cli::mode_text(claim, 0), "shared");
}

TEST_F(listing, of_nothing_is_nothing) {
  EXPECT_EQ(holdfast({"ls"}).out, "");
  EXPECT_EQ(holdfast({"ls", "--json"}).out, "");
}

TEST_F(listing, has_what_is_held_and_with_all_what_is_remembered) {
  holdfast({"run", "idle", "--", "true"});
  const auto holder = start_holder("busy", {"--label", "mine"});
  auto waiter = start({"run", "busy", "--", "true"});
  ASSERT_TRUE(waiters("busy", 1));

  const auto busy = parse_lines(holdfast({"ls", "--json"}).out);
  ASSERT_EQ(busy.size(), 1U);
  EXPECT_EQ(busy[0]["name"], "busy");
  EXPECT_EQ(busy[0]["mode"], "exclusive");
  EXPECT_EQ(busy[0]["holders"], 1);
  EXPECT_EQ(busy[0]["waiters"], 1);
  EXPECT_GE(busy[0]["held_for_s"], 0);
  EXPECT_EQ(busy[0]["holder"]["label"], "mine");
  EXPECT_EQ(busy[0]["holder"]["pid"], holder->pid());

  const auto all = parse_lines(holdfast({"ls", "--all", "--json"}).out);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1]["name"], "idle");
  EXPECT_EQ(all[1]["holders"], 0);
  EXPECT_GT(all[1]["last_token"], 0);
  const auto lines = lines_of(holdfast({"ls", "--all"}).out);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_THAT(lines[0], HasSubstr("LAST TOKEN"));
  EXPECT_THAT(lines[2], HasSubstr(to_string(all[1]["last_token"])));
}

TEST_F(listing, has_no_mode_of_a_name_that_is_not_in_use) {
  const auto of_seats = [&] { return lines_of(holdfast({"ls", "--all"}).out).at(1); };
  const auto holder = start_holder("seats", {"--permits", "1/4"});
  EXPECT_THAT(of_seats(), HasSubstr("permits of 4"));
  holder->signal(SIGTERM);
  holder->wait();
  EXPECT_THAT(of_seats(), testing::MatchesRegex("seats  -  +0 .*"));
}

TEST_F(listing, is_aligned_by_what_a_terminal_shows) {
  const strings names{"a", "größe", "much-longer-than-that", "日本語"};  // sorted by their bytes
  for (const auto& name : names) holdfast({"run", name, "--", "true"});
  const auto lines = lines_of(holdfast({"ls", "--all"}).out);
  ASSERT_EQ(lines.size(), 1 + names.size());
  const auto mode_column = lines[0].find("MODE") - 1;
  for (const auto& line : lines) EXPECT_FALSE(line.ends_with(' ')) << line;
  EXPECT_EQ(lines[1].find(" - "), mode_column);
  EXPECT_EQ(lines[2].find(" - "), mode_column + 2) << "two letters of two bytes and one column each";
  EXPECT_EQ(lines[3].find(" - "), mode_column);
  EXPECT_EQ(lines[4].find(" - "), mode_column + 3) << "three letters of three bytes and two columns each";
}

TEST_F(listing, shows_a_lock_in_detail) {
  const auto reader = start_holder("x", {"--shared", "--label", "reader"});
  auto writer = start({"run", "x", "--label", "writer", "--", "true"});
  ASSERT_TRUE(waiters("x", 1));
  const auto text = holdfast({"show", "x"}).out;
  EXPECT_THAT(text, AllOf(HasSubstr("1 holding, 1 waiting"), HasSubstr("(reader)"), HasSubstr("(writer)"),
                          HasSubstr("EXPIRES IN")));
  const auto object = show("x");
  EXPECT_EQ(object["holders"][0]["mode"], "shared");
  EXPECT_EQ(object["holders"][0]["owner"].get<std::string>().size(), 32U);
  EXPECT_EQ(object["waiters"][0]["label"], "writer");
}

TEST_F(listing, a_name_nobody_used_is_free) {
  EXPECT_THAT(holdfast({"show", "new"}).out, HasSubstr("new: free"));
  EXPECT_EQ(show("new")["last_token"], 0);
}

TEST_F(listing, force_is_needed_to_release_for_others) {
  const auto holder = start_holder("x");
  EXPECT_EQ(holdfast({"release", "x"}).status, 64);
  EXPECT_TRUE(held("x"));
  EXPECT_EQ(holdfast({"release", "--force", "x"}).out, "ended the hold of the lock 'x'\n");
  EXPECT_FALSE(held("x"));
  const auto nobody = holdfast({"release", "--force", "x"});
  EXPECT_EQ(nobody.status, 1);
  EXPECT_EQ(nobody.out, "nobody held the lock 'x'\n");
  EXPECT_EQ(parse_lines(holdfast({"release", "--force", "x", "--json"}).out).at(0)["ended"], 0);
}

TEST_F(listing, release_ends_the_one_hold_whose_token_is_given) {
  auto first = start_holder("x", {"--permits", "1/2"});
  auto second = start_holder("x", {"--permits", "1/2", "--label", "stuck"});
  const auto token = [](const json& holder) { return std::to_string(holder["token"].get<std::uint64_t>()); };
  const auto holders = show("x")["holders"];
  ASSERT_EQ(holders.size(), 2U);
  const auto& stuck = holders[0]["label"] == "stuck" ? holders[0] : holders[1];
  const auto mistyped = holdfast({"release", "--force", "x", "--token", "12345678901"});
  EXPECT_EQ(mistyped.status, 1);
  EXPECT_EQ(mistyped.out, "nobody held the lock 'x' with the token 12345678901\n");
  EXPECT_EQ(holdfast({"release", "--force", "x", "--token", token(stuck)}).out,
            "ended the hold of the lock 'x'\n");
  EXPECT_EQ(second->wait().status, 76);
  EXPECT_TRUE(first->running());
  EXPECT_EQ(show("x")["holders"].size(), 1U);
}

TEST_F(listing, foreign_text_cannot_act_on_the_terminal) {
  // Right-to-left override, zero width space, a combining mark, C1 control.
  const std::string name = "x\u202ey\u200bz\u3164\u2800";
  const auto holder = start_holder(name, {"--label", "a\u2066b"});
  for (const auto& line :
       {strings{"ls"}, strings{"show", name}, strings{"ls", "--json"}, strings{"show", name, "--json"}}) {
    const auto out = holdfast(line).out;
    EXPECT_THAT(out, AllOf(Not(HasSubstr("\u202e")), Not(HasSubstr("\u200b")), Not(HasSubstr("\u2066"))));
  }
  EXPECT_THAT(holdfast({"ls"}).out, HasSubstr("x\\u{202e}y\\u{200b}z\\u{3164}\\u{2800}"));
  EXPECT_EQ(show(name)["name"], name);
  const auto refused = holdfast({"run", name, "--wait", "0", "--", "true"});
  EXPECT_EQ(refused.status, 75);
  EXPECT_THAT(refused.err, Not(HasSubstr("\u202e")));
  EXPECT_THAT(holdfast({"show", "\x1b[31mred"}).err, Not(HasSubstr("\x1b")));
}

TEST_F(listing, quiet_show_answers_by_its_status) {
  EXPECT_EQ(holdfast({"show", "x", "-q"}).status, 1);
  const auto holder = start_holder("x");
  const auto held = holdfast({"show", "x", "--quiet"});
  EXPECT_EQ(held.status, 0);
  EXPECT_EQ(held.out + held.err, "");
}

class awaiting : public command_test {};

TEST_F(awaiting, a_free_lock_ends_at_once) {
  EXPECT_EQ(holdfast({"wait", "x"}).status, 0);
  EXPECT_EQ(holdfast({"wait", "x", "--wait", "0"}).status, 0);
}

TEST_F(awaiting, gives_up_at_its_limit_and_says_who_holds) {
  const auto holder = start_holder("x", {"--label", "mine"});
  for (const auto* limit : {"0", "20ms"}) {
    const auto said = holdfast({"wait", "x", "--wait", limit});
    EXPECT_EQ(said.status, 75);
    EXPECT_THAT(said.err, HasSubstr("mine"));
  }
}

TEST_F(awaiting, ends_when_the_last_holder_has_gone_and_takes_nothing) {
  auto first = start_holder("x", {"--shared"}, "while [ ! -e $D/one ]; do sleep 0.01; done");
  auto second = start_holder("x", {"--shared"}, "while [ ! -e $D/two ]; do sleep 0.01; done");
  const auto last_token = show("x")["last_token"];
  auto waiter = start({"wait", "x", "--json"});
  write_file(file("one"), "");
  EXPECT_EQ(first->wait().status, 0);
  EXPECT_TRUE(waiter->running());
  write_file(file("two"), "");
  const auto ended = waiter->wait();
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(parse_lines(ended.out).at(0)["free"], true);
  EXPECT_EQ(show("x")["last_token"], last_token) << "it drew no token of its own";
}

TEST_F(awaiting, sees_a_hold_that_ends_with_its_ttl) {
  auto holder = start_holder("x", {"--ttl", "6s"});
  auto waiter = start({"wait", "x"});
  holder->signal(SIGKILL);
  EXPECT_EQ(waiter->wait().status, 0);
}

class watching : public command_test {
 protected:
  bool sees(process& watch, const std::string& event, const std::string& label) {
    return eventually([&] {
      for (const auto& line : whole_lines(watch.out())) {
        if (line["event"] == event && line["label"] == label) return true;
      }
      return false;
    });
  }
};

TEST_F(watching, tells_what_happens) {
  const auto watch = start({"watch", "--json"});
  const auto holder = start_holder("x", {"--label", "one"});
  EXPECT_TRUE(sees(*watch, "granted", "one"));
  const auto second = start({"run", "x", "--label", "two", "--", "sleep", "1000"});
  EXPECT_TRUE(sees(*watch, "waiting", "two"));
  const auto third = start({"run", "x", "--label", "three", "--", "true"});
  EXPECT_TRUE(sees(*watch, "waiting", "three"));
  third->signal(SIGINT);
  EXPECT_TRUE(sees(*watch, "gone", "three"));
  holder->signal(SIGTERM);
  EXPECT_TRUE(sees(*watch, "released", "one"));
  EXPECT_TRUE(sees(*watch, "granted", "two"));
  second->signal(SIGTERM);
  EXPECT_TRUE(sees(*watch, "released", "two"));
  watch->signal(SIGINT);
  const auto said = watch->wait();
  EXPECT_EQ(said.status, 0);
  double last = 0;
  for (const auto& line : parse_lines(said.out)) {
    EXPECT_GE(line["time"], last) << line;
    last = line["time"];
    EXPECT_EQ(line.contains("age_s"), line["event"] == "granted" || line["event"] == "waiting") << line;
  }
  EXPECT_GT(last, 0);
}

TEST_F(watching, ends_by_a_signal_although_nobody_reads_what_it_says) {
  std::vector<std::unique_ptr<process>> holders;  // more text than the pipe takes
  for (int each = 0; each < 12; ++each) {
    holders.push_back(start_holder(std::to_string(each), {"--label", std::string(250, 'x')}));
  }
  const auto pipe = file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reading = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_EQ(::fcntl(reading, F_SETPIPE_SZ, 4096), 4096);
  const auto watch = start({"watch", "--json"}, {.environment = {}, .output = pipe});
  EXPECT_TRUE(eventually([&] {
    int unread = 0;
    return ::ioctl(reading, FIONREAD, &unread) == 0 && unread > 0;
  }));
  watch->signal(SIGTERM);
  EXPECT_EQ(watch->wait().status, 0);
  ::close(reading);
}

TEST_F(watching, one_name_sees_no_other_and_begins_with_what_is) {
  const auto other = start_holder("other", {"--label", "not this"});
  const auto holder = start_holder("x", {"--label", "this"});
  const auto watch = start({"watch", "x"});
  EXPECT_TRUE(eventually([&] { return watch->out().find("(this)") != std::string::npos; }));
  holder->signal(SIGTERM);
  EXPECT_TRUE(eventually([&] { return watch->out().find("released") != std::string::npos; }));
  watch->signal(SIGTERM);
  const auto said = watch->wait();
  EXPECT_EQ(said.status, 0);
  EXPECT_THAT(said.out, Not(HasSubstr("not this")));
}

}  // namespace
}  // namespace holdfast::test
