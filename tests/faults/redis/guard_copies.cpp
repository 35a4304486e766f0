// SPDX-License-Identifier: Apache-2.0
// The failover guard's script on a real server: in a cluster, a client's copy stands in for a marker that has
// gone with its slot.

#include <regex>
#include <sstream>
#include <string>

#include "faults/faults.hpp"
#include "support/redis_server.hpp"

namespace holdfast::faults {
namespace {

using testing::EndsWith;
using testing::StartsWith;

/// A server that has just started, so that it grants nothing unless a marker or a copy says otherwise.
class redis_guard_copy : public testing::Test {
 protected:
  static constexpr std::int64_t guard_ms = 60'000;

  struct answer {
    std::int64_t left = -1;  // milliseconds
    std::int64_t since = -1;
    std::string cause;
    std::int64_t guard = -1;
    std::string marker;
  };

  answer ask(const std::string& copy) { return answer_to({"", copy}); }
  /// Outside of a cluster; `writes` is what the client has read in the settings.
  answer ask_of_writes(const std::string& writes) { return answer_to({writes}); }
  answer answer_to(const std::vector<std::string>& rest) {
    std::vector<std::string> question{"EVAL", script_, "1", key_, std::to_string(guard_ms), "0"};
    question.insert(question.end(), rest.begin(), rest.end());
    const std::string reply = server_.ask(question);
    std::istringstream lines{reply};
    answer a;
    lines >> a.left >> a.since >> a.cause >> a.guard >> std::ws;
    std::getline(lines, a.marker);
    EXPECT_FALSE(a.marker.empty()) << reply;
    a.marker = plain(a.marker);
    return a;
  }
  /// Without the time until which the longest guard counts, and the shorter ones.
  static std::string plain(const std::string& marker) {
    return std::regex_replace(marker, std::regex{"([0-9]+)/[0-9]+/[0-9]+"}, "$1");
  }
  void set_marker(const std::string& marker) { server_.ask({"SET", key_, marker}); }
  std::string marker() { return plain(server_.ask({"GET", key_})); }
  std::int64_t now_ms() {
    std::istringstream time{server_.ask({"TIME"})};
    std::int64_t seconds = 0;
    time >> seconds;
    return seconds * 1000;
  }

  test::redis_server server_;
  const std::string script_ = bytes_of(HOLDFAST_GUARD_SCRIPT);
  const std::string key_ =
      "{3}holdfast:\x1f"
      "guard";
  const std::string id_ = server_.info_text("master_replid");
  const std::string run_ = server_.info_text("run_id");
  const std::string own_ = id_ + ' ' + run_ + " 60000/0/0 0 none";
  const std::string others_ = std::string(40, 'f') + ' ' + std::string(40, 'e') + " 60000/0/0 0 none";
};

TEST_F(redis_guard_copy, is_not_there_for_the_first_question) {
  const answer first = ask("");
  EXPECT_GT(first.left, 0);
  EXPECT_EQ(first.cause, "started");
  EXPECT_THAT(first.marker, StartsWith(id_ + ' ' + run_ + " 60000 "));
  EXPECT_EQ(first.marker, marker());
}

TEST_F(redis_guard_copy, is_believed_where_the_marker_has_gone) {
  const answer a = ask(own_);
  EXPECT_EQ(a.left, 0);
  EXPECT_EQ(a.cause, "none");
  EXPECT_EQ(marker(), plain(own_)) << "the next client finds it";
}

TEST_F(redis_guard_copy, is_believed_where_a_slot_came_with_the_marker_of_another_server) {
  set_marker(others_);
  EXPECT_GT(ask("").left, 0) << "the copy makes the difference: the server has just started";
  set_marker(others_);
  EXPECT_EQ(ask(own_).left, 0);
  EXPECT_EQ(marker(), plain(own_));
}

TEST_F(redis_guard_copy, is_believed_where_it_says_that_nothing_is_granted) {
  const std::string paused =
      id_ + ' ' + run_ + " 60000/0/0 " + std::to_string(now_ms() - 20'000) + " changed";
  const answer a = ask(paused);
  EXPECT_EQ(a.cause, "changed");
  EXPECT_GT(a.left, 0);
  EXPECT_LE(a.left, 40'000);
  EXPECT_EQ(marker(), plain(paused));
}

TEST_F(redis_guard_copy, keeps_the_longest_guard_in_use) {
  EXPECT_EQ(ask(id_ + ' ' + run_ + " 90000/0/0 0 none").guard, 90'000);
  EXPECT_THAT(marker(), EndsWith(" 90000 0 none"));
}

// The marker is what other clients of the server have found since.
TEST_F(redis_guard_copy, does_not_count_where_the_marker_is_this_servers) {
  const std::string paused = id_ + ' ' + run_ + " 60000/0/0 " + std::to_string(now_ms()) + " changed";
  set_marker(paused);
  EXPECT_GT(ask(own_).left, 0);
  set_marker(own_);
  EXPECT_EQ(ask(paused).left, 0);
}

TEST_F(redis_guard_copy, of_another_server_is_not_believed) {
  EXPECT_EQ(ask(others_).cause, "started") << "without a marker";
  set_marker(others_);
  EXPECT_EQ(ask(others_).cause, "started") << "it came with a slot, and says nothing of this server";
  server_.ask({"DEL", key_});
  EXPECT_GT(ask(std::string(40, 'f') + ' ' + run_ + " 60000/0/0 0 none").left, 0) << "before a promotion";
}

TEST_F(redis_guard_copy, that_is_none_is_ignored) {
  for (const std::string& copy :
       {std::string{"x"}, std::string{" "}, id_, id_ + ' ', id_ + ' ' + run_,
        id_ + ' ' + run_ + " 60000/0/0 0", id_ + ' ' + run_ + " 60000/0/0 0 ", own_ + ' ', own_ + '\n',
        ' ' + own_, id_ + "  " + run_ + " 60000/0/0 0 none", id_ + ' ' + run_ + " -1/0/0 0 none",
        id_ + ' ' + run_ + " 60000/0/0 -1 none", id_ + ' ' + run_ + " x/0/0 0 none",
        id_ + ' ' + run_ + " 60000 0 none", id_ + ' ' + run_ + " 60000/0 0 none",
        id_.substr(1) + ' ' + run_ + " 60000/0/0 0 none", std::string(200, 'a'),
        own_ + std::string(1, '\0')}) {
    server_.ask({"DEL", key_});
    const answer without = ask(copy);
    EXPECT_EQ(without.cause, "started") << copy;
    EXPECT_GT(without.left, 0) << copy;
    EXPECT_THAT(without.marker, StartsWith(id_ + ' ' + run_ + " 60000 "));
    set_marker(others_);
    EXPECT_EQ(ask(copy).cause, "started") << copy << ": the start counts";
    set_marker(own_);
    EXPECT_EQ(ask(copy).left, 0) << copy;
  }
}

// It counts whole seconds, and may count one too many: forgotten holds may have begun until it started.
TEST_F(redis_guard_copy, counts_a_second_less_than_the_server_says_that_it_is_up) {
  await([&] { return server_.info("uptime_in_seconds") >= 2; }, "it does not count");
  std::int64_t before = 0;
  std::int64_t after = -1;
  answer a;
  while (before != after) {  // the same second
    server_.ask({"DEL", key_});
    before = server_.info("uptime_in_seconds");
    a = ask("");
    after = server_.info("uptime_in_seconds");
  }
  EXPECT_EQ(a.since, (before - 1) * 1000);
}

// ---- a server that has each write on the disk before its reply

using redis_guard_writes = redis_guard_copy;

TEST_F(redis_guard_writes, that_were_kept_and_are_kept_need_no_guard) {
  set_marker(others_ + " kept");
  const answer a = ask_of_writes("kept");
  EXPECT_EQ(a.left, 0);
  EXPECT_EQ(marker(), plain(own_) + " kept") << "the next start";
}

TEST_F(redis_guard_writes, that_were_not_kept_or_are_not_now_need_it) {
  for (const auto& [former, now] :
       {std::pair{"", "kept"}, {" kept", "loose"}, {" kept", ""}, {" keep", "kept"}}) {
    set_marker(others_ + former);
    EXPECT_GT(ask_of_writes(now).left, 0) << former << "," << now;
  }
}

TEST_F(redis_guard_writes, are_known_until_a_client_reads_something_else) {
  set_marker(own_);
  ask_of_writes("");
  EXPECT_EQ(marker(), plain(own_));
  ask_of_writes("kept");
  EXPECT_EQ(marker(), plain(own_) + " kept");
  ask_of_writes("");
  EXPECT_EQ(marker(), plain(own_) + " kept");
  ask_of_writes("loose");
  EXPECT_EQ(marker(), plain(own_));
}

TEST_F(redis_guard_writes, do_not_end_a_guard_that_was_not_over) {
  set_marker(std::string(40, 'f') + ' ' + std::string(40, 'e') + " 60000/0/0 " +
             std::to_string(now_ms() - 20'000) + " started kept");
  const answer a = ask_of_writes("kept");
  EXPECT_GT(a.left, 0);
  EXPECT_LE(a.left, 40'000);
}

TEST_F(redis_guard_writes, say_nothing_of_a_server_that_has_followed_another) {
  const test::redis_server primary;
  server_.replicate(primary);
  await([&] { return server_.info_text("master_link_status") == "up"; }, "it does not follow");
  server_.ask({"REPLICAOF", "NO", "ONE"});
  set_marker(others_ + " kept");
  EXPECT_EQ(ask_of_writes("kept").cause, "changed");
}

}  // namespace
}  // namespace holdfast::faults
