// SPDX-License-Identifier: Apache-2.0
// `holdfast doctor` on a set of servers of which a majority decides: what concerns more than one of them.

#include <algorithm>
#include <gmock/gmock.h>

#include "doctor_fixture.hpp"
#include "support/redis_quorum.hpp"

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string quorum_key = "{holdfast:}\x1fquorum";

class doctor_on_redlock : public doctor_test {
 protected:
  std::string place(std::size_t index) {
    return "127.0.0.1:" + std::to_string(servers_.server(index).port());
  }
  /// As a shell runs it.
  result run_in_shell(const std::string& command) {
    return process{scratch_, {"sh", "-c", command}, {}}.wait();
  }
  static std::string command_in(const json& one) {
    const auto remedy = one["remedy"].get<std::string>();
    return remedy.substr(std::min(remedy.find("redis-cli"), remedy.size()));
  }

  redis_quorum servers_{{.servers = 3, .own_clock = true}};
  std::string url_ = servers_.url("?node_timeout=20s");  // none of them is silent
};

TEST_F(doctor_on_redlock, says_of_a_set_what_the_golden_file_has) {
  doctor_record said{"redlock"};
  for (std::size_t i = 0; i < 3; ++i) said.replace(place(i), "SERVER" + std::to_string(i + 1));
  const auto port = std::to_string(servers_.server(0).port());
  said.replace("localhost:" + port, "LOCALHOST1");
  said.replace_all(R"(-p \d+)", "-p PORT");
  said.replace_all("SERVER.,SERVER.,SERVER.", "SERVERS");
  said.replace_all("version of ([A-Z]+.): kept: .*", "version of $1: kept: 7");
  said.replace_all(R"(it began \d+ s ago)", "it began N s ago");
  said.replace_all(R"(of SERVER([13]) and SERVER2 are (\d)\d\d\d ms)", "of SERVERn and SERVER2 are $2... ms");
  said.replace_all(R"(of SERVER([13]) and SERVER2 are (\d)\d\d\d\d ms)",
                   "of SERVERn and SERVER2 are $2.... ms");
  said.replace_all(R"(clock is (\d)\d\d\d ms)", "clock is $1... ms");
  said.replace_all(R"(clock is (\d)\d\d\d\d ms)", "clock is $1.... ms");
  const auto in = [](std::string url, const std::string& user) {
    return url.insert(url.find("//") + 2, user + ":secret@");
  };
  const auto at = [&](std::size_t index) -> redis_server& { return servers_.server(index); };
  const auto guarded = servers_.guarded_url("?node_timeout=20s");
  for (std::size_t i = 0; i < 3; ++i)
    at(i).ask({"ACL", "SETUSER", "blind", "on", ">secret", "~*", "&*", "+@all"});
  at(0).ask({"ACL", "SETUSER", "blind", "-get"});

  look(said, "the guard is off", url_);
  look(said, "the guard is on", guarded);
  at(1).ask({"SET", quorum_key, "10.0.0.1:6379,10.0.0.2:6379,10.0.0.3:6379"});
  look(said, "one keeps another set", url_);
  at(1).ask({"DEL", quorum_key});
  at(0).ask({"HSET", quorum_key, "a", "b"});
  look(said, "one has something else there", url_);
  look(said, "a user who may not look", in(url_, "blind"));
  at(0).ask({"DEL", quorum_key});
  look(said, "one is named twice",
       "redlock://" + place(0) + ",localhost:" + port + "," + place(1) + "?restart_guard=0");
  for (std::size_t i = 0; i < 3; ++i) {
    at(i).ask({"CONFIG", "SET", "appendonly", "yes"});
    at(i).ask({"CONFIG", "SET", "appendfsync", "always"});
  }
  look(said, "all keep each write", guarded);
  at(1).ask({"CONFIG", "SET", "no-appendfsync-on-rewrite", "yes"});
  look(said, "one may not, while it rewrites its file", guarded);
  at(1).set_clock(std::chrono::milliseconds{-5400});
  look(said, "a clock is behind", guarded);
  at(1).set_clock(std::chrono::milliseconds{-40400});
  look(said, "a clock is behind by more than the guard", guarded);
  at(1).set_clock(std::chrono::milliseconds{0});
  at(1).ask({"CONFIG", "SET", "requirepass", "another"});
  look(said, "one has another password", url_);
  at(0).kill();
  look(said, "one is away, too", url_);
  said.compare();
}

TEST_F(doctor_on_redlock, names_a_server_that_keeps_another_set) {
  is_kept(condition(url_, "set"));
  for (const std::string other : {"10.0.0.1:6379,10.0.0.2:6379,10.0.0.3:6379", "nonsense"}) {
    servers_.server(1).ask({"SET", quorum_key, other});
    EXPECT_THAT(holdfast({"run", "stock", "--wait", "5s", "--store", url_, "--", "true"}).err,
                HasSubstr("other clients name the servers " + other));
    const auto found = condition(url_, "set", 2);
    is(found, "broken", "it keeps '" + other + "'", "redis-cli");
    EXPECT_EQ(found["subject"], place(1));
    std::vector<std::string> own{place(0), place(1), place(2)};
    std::sort(own.begin(), own.end());
    EXPECT_THAT(found["observed"].get<std::string>(), HasSubstr(own[0] + "," + own[1] + "," + own[2]));
    const auto deleted = run_in_shell(command_in(found));
    EXPECT_EQ(deleted.out, "1\n") << command_in(found) << deleted.err;
    is_kept(condition(url_, "set"));
  }
}

TEST_F(doctor_on_redlock, writes_the_key_of_a_set_for_a_shell_whatever_the_prefix_is) {
  const std::string prefix = "it's $HOME %s \\n \"a\" ";
  const auto url = servers_.url("?prefix=it's%20$HOME%20%25s%20%5Cn%20%22a%22%20&node_timeout=20s");
  servers_.server(2).ask({"SET", "{" + prefix + "}\x1fquorum", "others"});
  const auto found = condition(url, "set", 2);
  is(found, "broken", "it keeps 'others'", "redis-cli");
  EXPECT_EQ(run_in_shell(command_in(found)).out, "1\n") << command_in(found);
}

TEST_F(doctor_on_redlock, says_of_a_server_under_two_names_what_clients_say) {
  const auto port = std::to_string(servers_.server(0).port());
  const auto twice =
      "redlock://" + place(0) + ",localhost:" + port + "," + place(1) + "?restart_guard=0&node_timeout=20s";
  const auto refused = holdfast({"run", "stock", "--wait", "5s", "--store", twice, "--", "true"});
  EXPECT_EQ(refused.status, 64) << refused.err;
  const auto found = condition(twice, "vote", 2);
  is(found, "broken", "it is the same server as ", "name each server once");
  EXPECT_THAT(found["meaning"].get<std::string>(), HasSubstr("errc::invalid_argument"));
}

TEST_F(doctor_on_redlock, names_each_server_where_none_answers) {
  for (std::size_t i = 0; i < 3; ++i) servers_.server(i).kill();
  const auto run = holdfast({"doctor", "--store", url_});
  EXPECT_EQ(run.status, 69);
  EXPECT_THAT(run.err, HasSubstr(place(0) + ", " + place(1) + " and " + place(2) + ": cannot connect"));
}

// The second one is asked although the first one says nothing.
TEST_F(doctor_on_redlock, asks_all_servers_at_the_same_time) {
  redis_quorum mute{{.servers = 3, .on_lines = true}};
  for (const std::size_t each : {0, 1}) mute.server(each).stop();
  const auto before = mute.line(0).taken() + mute.line(1).taken();
  const auto doctor = start({"doctor", "--all", "--store", mute.url("?connect_timeout=1h")});
  EXPECT_TRUE(eventually(
      [&] { return mute.line(0).taken() + mute.line(1).taken() == before + 2 || !doctor->running(); }));
  EXPECT_TRUE(doctor->running());
  for (const std::size_t each : {0, 1}) mute.server(each).go_on();
  doctor->wait();
  EXPECT_THAT(doctor->out(), HasSubstr("3 of 3 servers answer")) << doctor->err();
}

}  // namespace
}  // namespace holdfast::test
