// SPDX-License-Identifier: Apache-2.0
// What the command says of servers that differ from the majority, or are not heard.

#include <csignal>
#include <gmock/gmock.h>
#include <stop_token>
#include <thread>

#include "fixture.hpp"
#include "support/redis_quorum.hpp"
#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class redlock_notes : public command_test {
 protected:
  result ask(strings command) {
    command.insert(command.end(), {"--store", url_});
    return holdfast(command);
  }
  std::unique_ptr<process> hold(const std::string& name) {
    return start_holder(name, {"--store", url_, "--ttl", "1m"});
  }

  redis_quorum servers_{{.servers = 3}};
  std::string url_ = servers_.url("?node_timeout=20s");  // none of them is silent
};

TEST_F(redlock_notes, are_none_where_all_servers_agree) {
  const auto holder = hold("stock");
  EXPECT_TRUE(eventually([&] { return servers_.holds_of("stock") == 3; }));
  EXPECT_THAT(ask({"show", "stock"}).out, AllOf(HasSubstr("1 holding"), Not(HasSubstr("note:"))));
  EXPECT_FALSE(parse_lines(ask({"show", "stock", "--json"}).out).at(0).contains("notes"));
  const auto released = ask({"release", "stock", "--force"});
  EXPECT_EQ(released.status, 0);
  EXPECT_EQ(released.err, "");
}

TEST_F(redlock_notes, name_a_server_that_is_stopped) {
  const auto holder = hold("stock");
  ASSERT_TRUE(eventually([&] { return servers_.holds_of("stock") == 3; })) << "two have granted it";
  url_ = servers_.url("?node_timeout=500ms");  // for those who ask from here on
  servers_.server(1).stop();
  const std::string place = "127.0.0.1:" + std::to_string(servers_.server(1).port());
  EXPECT_THAT(ask({"show", "stock"}).out, HasSubstr("note: " + place + ": does not answer"));
  const auto notes = parse_lines(ask({"show", "stock", "--json"}).out).at(0).at("notes");
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].at("server"), place);
  EXPECT_EQ(notes[0].at("answers"), false);
  EXPECT_THAT(ask({"ls"}).out, HasSubstr("note: " + place + ": does not answer"));
  EXPECT_EQ(parse_lines(ask({"ls", "--json"}).out).at(0).at("notes"), notes);
  const auto released = ask({"release", "stock", "--force"});
  EXPECT_EQ(released.status, 0);
  EXPECT_THAT(released.err, HasSubstr(place + ": does not answer; a hold there stays until its ttl"));
  servers_.server(1).go_on();
}

TEST_F(redlock_notes, name_a_server_that_does_not_have_the_hold_and_one_with_a_key_of_another_type) {
  const auto holder = hold("stock");
  ASSERT_TRUE(eventually([&] { return servers_.holds_of("stock") == 3; }));
  servers_.server(0).ask({"DEL", "holdfast:stock"});
  EXPECT_THAT(ask({"show", "stock"}).out,
              HasSubstr("note: 127.0.0.1:" + std::to_string(servers_.server(0).port()) +
                        ": does not have the hold of the claim "));
  servers_.server(0).ask({"HSET", "holdfast:stock", "a", "b"});
  EXPECT_THAT(ask({"show", "stock"}).out,
              HasSubstr("note: 127.0.0.1:" + std::to_string(servers_.server(0).port()) + ": "));
}

TEST_F(redlock_notes, are_of_one_sentence_where_all_servers_say_the_same) {
  for (std::size_t i = 0; i < 3; ++i) servers_.server(i).ask({"SET", "{holdfast:}\x1fquorum", "others"});
  for (const strings& command : {strings{"ls"}, strings{"show", "stock"}}) {
    const auto said = ask(command);
    EXPECT_EQ(said.status, 69);
    const auto first = said.err.find("other clients name the servers others");
    ASSERT_NE(first, std::string::npos) << said.err;
    EXPECT_EQ(said.err.find("other clients name", first + 1), std::string::npos) << said.err;
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_THAT(said.err.substr(0, first), HasSubstr(std::to_string(servers_.server(i).port())));
  }
}

class redlock_hindrances : public command_test {
 protected:
  std::string place(std::size_t index) {
    return "127.0.0.1:" + std::to_string(servers_.server(index).port());
  }
  result run(const std::string& wait) {
    return holdfast(
        {"run", "stock", "--wait", wait, "--store", servers_.url("?node_timeout=500ms"), "--", "true"});
  }

  redis_quorum servers_{{.servers = 3, .own_clock = true}};
};

// With one server away, the other two have to accept one number. Only an attempt that does not wait has an
// answer of its own.
TEST_F(redlock_hindrances, are_named_where_a_clock_keeps_a_free_lock_from_all) {
  servers_.server(0).kill();
  servers_.server(1).set_clock(std::chrono::seconds{-60});
  const auto tried = run("0");
  EXPECT_EQ(tried.status, 69);
  EXPECT_THAT(tried.err,
              AllOf(HasSubstr("no majority has granted and accepted one token"), HasSubstr(place(0)),
                    testing::ContainsRegex(place(1) + " refuses the numbers of " + place(2) +
                                           ": its clock is 60 s behind")));
  const auto waited = run("1s");
  EXPECT_EQ(waited.status, 75) << waited.err;
  EXPECT_THAT(waited.err, AllOf(HasSubstr("held by nobody now; " + place(0) + ": cannot connect"),
                                Not(HasSubstr("longer --wait"))));
}

TEST_F(redlock_hindrances, are_the_servers_that_are_silent) {
  servers_.server(0).stop();
  servers_.server(2).stop();
  for (const std::string wait : {"0", "1s"}) {
    const auto said = run(wait);
    EXPECT_EQ(said.status, 69);
    EXPECT_THAT(said.err, AllOf(HasSubstr(place(0)), HasSubstr(place(2)), Not(HasSubstr("longer --wait"))));
  }
  servers_.server(0).go_on();
  servers_.server(2).go_on();
}

/// A lock that changes hands all the time.
class busy_lock {
 public:
  busy_lock(const std::string& url, const std::string& name)
      : thread_{[url, name](const std::stop_token& stop) {
          client locks{url};
          mutex lock{locks, name};
          while (!stop.stop_requested()) lock.acquire().release();
        }} {}

 private:
  std::jthread thread_;
};

class redlock_contention : public command_test {
 protected:
  redis_quorum servers_{{.servers = 5}};
};

// Of one whose holder has just released it, the look that follows a refusal finds nobody.
TEST_F(redlock_contention, is_none_of_a_silent_minority) {
  servers_.server(0).kill();
  const busy_lock others{servers_.url(), "stock"};
  const auto note =
      "held by nobody now; 127.0.0.1:" + std::to_string(servers_.server(0).port()) + ": cannot connect";
  EXPECT_TRUE(eventually([&] {
    const auto said =
        holdfast({"run", "stock", "--wait", "0", "-E", "9", "--store", servers_.url(), "--", "true"});
    EXPECT_THAT(said.status, testing::AnyOf(0, 9)) << said.err;
    return said.err.find(note) != std::string::npos;
  }));
}

// Its key has no token, no time of its grant, and here no time to live.
TEST_F(redlock_notes, leave_open_what_is_not_known_of_a_foreign_holder) {
  for (const std::size_t each : {0, 1}) servers_.server(each).ask({"SET", "jobs:job", "foreign"});
  const auto url = servers_.url("?prefix=jobs:&node_timeout=20s");
  const auto show = [&] { return holdfast({"show", "job", "--store", url}).out; };
  EXPECT_THAT(show(),
              AllOf(HasSubstr("(foreign)"), testing::ContainsRegex("exclusive +- +- +does not expire")));
  EXPECT_THAT(holdfast({"ls", "--store", url}).out, testing::ContainsRegex("job +exclusive +1 +0 +- +- +"));
  for (const std::size_t each : {0, 1}) servers_.server(each).ask({"PEXPIRE", "jobs:job", "100000000"});
  EXPECT_THAT(show(), testing::ContainsRegex("exclusive +- +- +[0-9]"));
}

TEST_F(redlock_notes, are_said_once_while_somebody_watches) {
  url_ = servers_.url("?node_timeout=500ms");
  auto holder = hold("stock");
  const std::string place = "127.0.0.1:" + std::to_string(servers_.server(2).port());
  const auto watching = start({"watch", "stock", "--store", url_});
  ASSERT_TRUE(eventually([&] { return watching->out().find("granted") != std::string::npos; }));
  servers_.server(2).stop();
  EXPECT_TRUE(
      eventually([&] { return watching->err().find(place + ": does not answer") != std::string::npos; }));
  holder->signal(SIGTERM);
  ASSERT_TRUE(eventually([&] { return watching->out().find("released") != std::string::npos; }));
  const auto looks = parse_lines(ask({"show", "stock", "--json"}).out).at(0);
  EXPECT_EQ(looks.at("notes").size(), 1U) << "of a name that nobody uses";
  EXPECT_EQ(watching->err().find("answers again"), std::string::npos) << "it does not answer yet";
  servers_.server(2).go_on();
  EXPECT_TRUE(
      eventually([&] { return watching->err().find(place + " answers again") != std::string::npos; }));
  watching->signal(SIGTERM);
  EXPECT_EQ(watching->wait().status, 0);
}

}  // namespace
}  // namespace holdfast::test
