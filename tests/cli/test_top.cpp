// SPDX-License-Identifier: Apache-2.0
// `holdfast top`: its table and its keys as functions, and the whole of it on a terminal.

#include <chrono>
#include <csignal>
#include <filesystem>
#include <future>
#include <gmock/gmock.h>

#include "fixture.hpp"
#include "live/reader.hpp"
#include "output/text.hpp"
#include "support/fault_proxy.hpp"
#include "support/redis_server.hpp"
#include "terminal.hpp"
#include "top/board.hpp"
#include "top/lock_view.hpp"
#include "top/screen.hpp"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using cli::board;
using cli::key;
using cli::wait_lengths;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

const cli::palette plain{nullptr};
constexpr boot_clock::time_point start_of_time{1h};

lock_summary lock(const std::string& name, std::uint64_t waiters, std::uint64_t token,
                  duration held_for = 1s) {
  lock_summary one;
  one.name = name;
  one.holders = 1;
  one.waiters = waiters;
  one.last_token = one.holder_token = fencing_token{token};
  one.held_for = held_for;
  one.holder.host = "host";
  one.holder.program = "job";
  return one;
}

strings names_on(const board& of, std::size_t height = 24) {
  strings names;
  for (const auto& line : of.lines(200, height, plain)) names.push_back(line.substr(0, line.find(' ')));
  return names;
}

TEST(top_board, sorts_by_each_column_and_keeps_the_selected_lock) {
  board table;
  table.update({lock("a", 0, 1, 9s), lock("b", 2, 2, 1s), lock("c", 1, 3, 5s)}, {{"c", 7s}, {"b", 3s}}, {},
               start_of_time);
  EXPECT_THAT(names_on(table), ElementsAre("NAME", "b", "c", "a"));
  table.move(1);
  EXPECT_EQ(table.selected()->name, "c");
  table.sort_by(board::order::held);
  EXPECT_THAT(names_on(table), ElementsAre("NAME", "a", "c", "b"));
  table.sort_by(board::order::wait);
  EXPECT_THAT(names_on(table), ElementsAre("NAME", "c", "b", "a"));
  table.sort_by(board::order::name);
  EXPECT_THAT(names_on(table), ElementsAre("NAME", "a", "b", "c"));
  EXPECT_EQ(table.selected()->name, "c");
  table.update({lock("a", 0, 1)}, {}, {}, start_of_time + 1s);
  EXPECT_EQ(table.selected()->name, "a") << "the selected one has gone";
  table.update({}, {}, {}, start_of_time + 2s);
  EXPECT_EQ(table.selected(), nullptr);
  table.move(1);
}

TEST(top_board, counts_the_grants_that_it_has_seen_over_ten_seconds) {
  board table;
  table.sort_by(board::order::grants);
  table.update({lock("a", 0, 1), lock("b", 0, 1)}, {}, {}, start_of_time);
  table.update({lock("a", 0, 1), lock("b", 0, 7)}, {}, {}, start_of_time + 1s);
  table.update({lock("a", 0, 1), lock("b", 0, 9)}, {}, {}, start_of_time + 2s);
  EXPECT_THAT(names_on(table), ElementsAre("NAME", "b", "a"));
  EXPECT_THAT(table.lines(200, 3, plain)[1], HasSubstr(" 0.2 "));
  table.update({lock("a", 0, 1), lock("b", 0, 9)}, {}, {}, start_of_time + 20s);
  EXPECT_THAT(table.lines(200, 3, plain)[2], HasSubstr(" 0.0 "));
}

TEST(top_board, fits_any_screen_and_shows_the_block_of_the_selected_line) {
  board table;
  std::vector<lock_summary> locks;
  for (int i = 0; i < 100; ++i) locks.push_back(lock("name-" + std::to_string(100 + i), 0, 1));
  locks.push_back(lock("long" + std::string(300, 'x') + "\x1b[31m", 0, 1));
  table.update(locks, {}, {}, start_of_time);
  for (const std::size_t width : {1U, 5U, 79U, 300U}) {
    const auto lines = table.lines(width, 20, plain);
    EXPECT_THAT(lines, SizeIs(20));
    for (const auto& line : lines) EXPECT_LE(cli::columns(line), width);
    EXPECT_THAT(lines, Each(Not(HasSubstr("\x1b"))));
  }
  table.move(45);
  EXPECT_THAT(names_on(table, 20)[1], "name-137");
  table.move(1000);
  EXPECT_EQ(table.selected()->name, "name-199");
  EXPECT_THAT(table.lines(200, 2, plain)[0], HasSubstr("MODE"));
  EXPECT_THAT(table.lines(80, 2, plain)[0], AllOf(HasSubstr("GRANTS/S"), Not(HasSubstr("MODE"))));
  EXPECT_THAT(table.lines(40, 2, plain)[0], AllOf(HasSubstr("WAITERS"), Not(HasSubstr("GRANTS/S"))));
  EXPECT_THAT(table.lines(80, 0, plain), SizeIs(0));
  EXPECT_THAT(table.lines(80, 1, plain), SizeIs(1));
}

TEST(top_board, looks_at_all_queues_in_turn_and_sorts_by_the_waits_that_it_knows) {
  board table;
  table.sort_by(board::order::wait);
  const auto see = [&](const wait_lengths& waits, duration after) {
    table.update({lock("a", 1, 1), lock("b", 9, 1), lock("c", 0, 1), lock("d", 5, 1)}, waits, {},
                 start_of_time + after);
    return table.waits().names_to_look_at(2);
  };
  EXPECT_THAT(see({}, 0s), ElementsAre("b", "d")) << "the longest queues first";
  EXPECT_THAT(table.lines(200, 5, plain)[1], AllOf(HasSubstr("a "), HasSubstr(" ?  ")));
  EXPECT_THAT(see({{"b", 1s}, {"d", 2s}}, 1s), ElementsAre("a", "b"));
  EXPECT_THAT(names_on(table), ElementsAre("NAME", "d", "b", "a", "c"));
  EXPECT_TRUE(table.waits().has_unknown());
  // The longest wait is that of the shortest queue.
  EXPECT_THAT(see({{"a", 9s}, {"b", 2s}}, 2s), ElementsAre("b", "d"));
  EXPECT_THAT(names_on(table), ElementsAre("NAME", "a", "d", "b", "c"));
  EXPECT_THAT(table.lines(200, 5, plain)[1], HasSubstr(" 9s "));
  EXPECT_THAT(table.lines(200, 5, plain)[2], HasSubstr(" 3s ")) << "it goes on";
  EXPECT_FALSE(table.waits().has_unknown());
}

TEST(top_lock_view, says_what_does_not_fit) {
  lock_state state;
  state.name = "job";
  state.holders.emplace_back();
  state.holders.back().token = fencing_token{7};
  state.notes.push_back({.server = "redis-3", .text = "does not answer", .answers = false});
  state.waiters.resize(30);
  EXPECT_EQ(cli::title_of(state, 200), "job: 30 waiting");
  EXPECT_EQ(cli::title_of(state, 30), "job: at least 30 waiting");
  const auto all = cli::lines_of(state, 100);
  ASSERT_THAT(all, SizeIs(32));
  EXPECT_THAT(all[0], HasSubstr("held by"));
  EXPECT_THAT(all[1], testing::StartsWith("note: redis-3")) << "before the queue";
  EXPECT_THAT(all[2], testing::StartsWith("1. "));
  EXPECT_EQ(cli::lines_of(state, 32), all) << "all fit";
  const auto cut = cli::lines_of(state, 10);
  ASSERT_THAT(cut, SizeIs(10));
  EXPECT_THAT(cut[8], testing::StartsWith("7. "));
  EXPECT_EQ(cut[9], "… and 23 more in the queue");
  EXPECT_THAT(cli::lines_of(state, 2), ElementsAre(all[0], "… and 31 more lines"));
  EXPECT_THAT(cli::lines_of(state, 1), ElementsAre("… and 32 more lines"));
  EXPECT_THAT(cli::lines_of(state, 0), SizeIs(0));
}

TEST(top_keys, are_taken_from_what_a_terminal_sends) {
  const auto pressed = [](std::string_view bytes) {
    std::vector<key> all;
    for (const auto& each : cli::keys_in(bytes)) all.push_back(each.pressed);
    return all;
  };
  EXPECT_THAT(pressed("\x1b[A\x1bOB\x1b[5~\x1b[6~\r"),
              ElementsAre(key::up, key::down, key::page_up, key::page_down, key::enter));
  EXPECT_THAT(pressed("\x1b"), ElementsAre(key::escape));
  // A key that is none of ours, and a mouse: no letter of theirs is a command.
  EXPECT_THAT(pressed("\x1b[15~q"), ElementsAre(key::letter));
  EXPECT_THAT(pressed("\x1b[1;5f\x1b[<0;3;4M\x07\x7f\xc3\xa9"), ElementsAre());
  EXPECT_EQ(cli::keys_in("f").front().letter, 'f');
  EXPECT_TRUE(cli::ends_within_key("q\x1b"));
  EXPECT_TRUE(cli::ends_within_key("\x1b[5"));
  EXPECT_FALSE(cli::ends_within_key("\x1b[5~"));
  EXPECT_FALSE(cli::ends_within_key("\x1b[Aq"));
}

class top : public command_test {
 protected:
  terminal open(const strings& arguments = {}) {
    strings command{HOLDFAST_COMMAND, "top"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    strings additions{"TERM=xterm"};
    for (const auto& each : environment()) additions.push_back(each);
    return {command, environment_with(additions)};
  }
};

// The second comes while the first one is carried out: both are taken at once.
TEST(top_reader, carries_out_an_action_after_one_that_fails) {
  client locks{"memory:"};
  cli::store_reader reader{locks, {1h, 1h}};
  std::promise<void> begun;
  std::promise<void> go_on;
  std::promise<void> done;
  reader.perform([&](const client&) {
    begun.set_value();
    go_on.get_future().wait();
    return std::string{"first"};
  });
  ASSERT_EQ(begun.get_future().wait_for(60s), std::future_status::ready);
  reader.perform([](const client&) -> std::string { throw error{errc::unavailable, "not now"}; });
  reader.perform([&](const client&) {
    done.set_value();
    return std::string{"third"};
  });
  go_on.set_value();
  ASSERT_EQ(done.get_future().wait_for(60s), std::future_status::ready) << "dropped without a word";
  std::string said;
  EXPECT_TRUE(eventually([&] {
    if (const auto news = reader.take_message()) said += news->text + '\n';
    return said.find("third") != std::string::npos;
  }));
  EXPECT_THAT(said, AllOf(HasSubstr("first"), HasSubstr("not now")));
}

TEST_F(top, needs_a_terminal) {
  const auto run = holdfast({"top"});
  EXPECT_EQ(run.status, 64);
  EXPECT_THAT(run.err, HasSubstr("needs a terminal"));
  const auto as_json = holdfast({"top", "--json"});
  EXPECT_EQ(as_json.status, 64);
  EXPECT_THAT(as_json.err, HasSubstr("use 'holdfast ls --json'"));
}

TEST_F(top, shows_the_locks_and_follows_them) {
  const auto holder = start_holder("nightly", {"--label", "the weekly one"});
  auto screen = open();
  EXPECT_TRUE(screen.shows("\x1b[?1049h")) << "the alternate screen";
  EXPECT_TRUE(screen.shows("1 lock, by waiters"));
  EXPECT_TRUE(screen.shows("nightly"));
  EXPECT_TRUE(screen.shows("the weekly one"));
  EXPECT_TRUE(screen.shows("q quit"));
  const auto second = start_holder("hourly");
  EXPECT_TRUE(screen.shows("2 locks, by waiters"));
  screen.type("\r");
  EXPECT_TRUE(screen.shows("held by"));
  screen.type("\x1b");
  EXPECT_TRUE(screen.shows("GRANTS/S"));
  screen.type("q");
  EXPECT_TRUE(screen.shows("\x1b[?1049l"));
  EXPECT_EQ(screen.wait(), 0);
}

TEST_F(top, names_a_deadlock_as_long_as_there_is_one) {
  const auto run = "exec " + std::string{HOLDFAST_COMMAND} + " run ";
  const auto first = start_holder("a", {}, "until [ -e $D/both ]; do sleep 0.05; done; " + run + "b -- true");
  const auto second = start_holder("b", {}, run + "a -- true");
  ASSERT_TRUE(waiters("a", 1));
  auto screen = open();
  EXPECT_TRUE(screen.shows("2 locks, by waiters"));
  write_file(file("both"), "");
  EXPECT_TRUE(screen.shows("deadlock among a, b: 'holdfast why --all' says what ends it"));
  screen.type("\r");
  EXPECT_TRUE(screen.shows("held by"));
  EXPECT_TRUE(screen.shows("deadlock among a, b")) << "beside one lock, too";
  screen.type("f");
  EXPECT_TRUE(screen.shows("y end this hold"));
  screen.type("y");
  EXPECT_TRUE(screen.shows("the hold was ended by force"));
  EXPECT_TRUE(eventually([&] {
    const auto drawn = screen.rest();
    const auto last = drawn.rfind("\x1b[H");
    if (last == std::string::npos || last == 0) return false;
    const auto whole = drawn.rfind("\x1b[H", last - 1);
    return whole != std::string::npos && drawn.substr(whole, last - whole).find("deadlock") == drawn.npos;
  })) << "it has ended";
}

TEST_F(top, says_why_a_server_that_has_started_grants_nothing) {
  const redis_server server;
  const auto url = server.guarded_url("?failover_guard=1h");
  const auto waiter = start({"run", "x", "-q", "--store", url, "--", "true"});
  auto screen = open({"--store", url});
  EXPECT_TRUE(screen.shows(" more: the server was started "));
}

TEST_F(top, asks_a_holder_again_and_keeps_the_reason) {
  const auto holder = start_holder("job");
  EXPECT_EQ(holdfast({"release", "--ask", "job", "--reason", "deploy"}).status, 0);
  auto screen = open();
  EXPECT_TRUE(screen.shows("1 lock, by waiters"));
  screen.type("\r");
  EXPECT_TRUE(screen.shows("asked to release: deploy"));
  screen.type("a");
  EXPECT_TRUE(screen.shows("it was asked before, and hears of the first request only"));
  EXPECT_EQ(show("job")["holders"][0]["release_request"], "deploy");
}

TEST_F(top, asks_nobody_for_a_lock_that_rests) {
  EXPECT_EQ(holdfast({"run", "job", "--at-least", "1h", "--", "true"}).status, 0);
  auto screen = open();
  EXPECT_TRUE(screen.shows("1 lock, by waiters"));
  screen.type("\r");
  EXPECT_TRUE(screen.shows(", released"));
  screen.type("a");
  EXPECT_TRUE(screen.shows("the holder has released it; it rests for 59m"));
}

TEST_F(top, shows_a_lock_of_another_library_without_invented_figures) {
  redis_server server;
  server.ask({"SET", "holdfast:job", "theirs"});
  auto screen = open({"--store", server.url()});
  EXPECT_TRUE(screen.shows("1 lock, by waiters"));
  screen.type("\r");
  EXPECT_TRUE(screen.shows("held by  a client of another library (theirs)  does not expire"));
}

TEST_F(top, asks_a_holder_and_ends_a_hold_by_force_after_a_question) {
  const auto holder = start_holder("job", {"--on-request", "USR1", "--lost-exit-code", "9"},
                                   "trap 'touch \"$D/asked\"' USR1\nwhile :; do sleep 0.01; done");
  auto screen = open();
  EXPECT_TRUE(screen.shows("1 lock, by waiters"));
  screen.type("\r");
  EXPECT_TRUE(screen.shows("held by"));
  screen.type("a");
  EXPECT_TRUE(screen.shows("the holder was asked to release"));
  EXPECT_TRUE(eventually([&] { return std::filesystem::exists(file("asked")); }));
  screen.type("f");
  EXPECT_TRUE(screen.shows("End the hold with token "));
  EXPECT_TRUE(screen.shows(" on 'job' by force? holdfast run (sh) on "));
  EXPECT_TRUE(screen.shows("y end this hold"));
  screen.type("n");
  EXPECT_TRUE(screen.shows("nothing was done"));
  EXPECT_TRUE(held("job"));
  screen.type("fy");
  EXPECT_TRUE(screen.shows("y end this hold")) << "what was typed before the question is no answer";
  EXPECT_TRUE(held("job"));
  screen.type("y");
  EXPECT_TRUE(screen.shows("the hold was ended by force"));
  EXPECT_EQ(holder->wait().status, 9);
  EXPECT_TRUE(screen.shows("free"));
  screen.type("q");
  EXPECT_EQ(screen.wait(), 0);
}

TEST_F(top, names_the_lock_that_it_would_end_and_no_other) {
  redis_server server;
  fault_proxy line{server.port()};
  const auto url = "redis://127.0.0.1:" + std::to_string(line.port()) + "?failover_guard=0";
  const auto a = start({"run", "aaa", "--store", server.url(), "--", "sleep", "1000"});
  ASSERT_TRUE(
      eventually([&] { return holdfast({"show", "-q", "aaa", "--store", server.url()}).status == 0; }));
  const auto b = start({"run", "bbb", "--store", server.url(), "--", "sleep", "1000"});
  ASSERT_TRUE(
      eventually([&] { return holdfast({"show", "-q", "bbb", "--store", server.url()}).status == 0; }));
  auto screen = open({"--store", url});
  EXPECT_TRUE(screen.shows("2 locks, by waiters"));
  screen.type("n\r");
  EXPECT_TRUE(screen.shows("held by"));
  line.interfere(direction::to_client, {.stall = true});
  screen.type("\x1b");
  EXPECT_TRUE(screen.shows("GRANTS/S"));
  screen.type("j\r");
  EXPECT_TRUE(screen.shows("reading its queue"));
  screen.type("f");
  EXPECT_TRUE(screen.shows("the lock has not been read yet"));
  line.heal();
  EXPECT_TRUE(screen.shows("held by"));
  screen.type("f");
  EXPECT_TRUE(screen.shows(" on 'bbb' by force?"));
  screen.type("q");
  EXPECT_TRUE(screen.shows("nothing was done"));
  screen.type("q");
  EXPECT_EQ(screen.wait(), 0);
}

// The most dangerous question, and the cause of a failure, on the usual terminal.
TEST_F(top, shows_its_question_and_errors_whole_on_80_columns) {
  const auto holder = start_holder("job", {"--label", "the one that runs each night at three"});
  auto screen = open();
  screen.resize(24, 80);
  EXPECT_TRUE(screen.shows("1 lock"));
  screen.type("x");
  EXPECT_TRUE(screen.shows("no such key"));
  screen.type("f");
  EXPECT_TRUE(screen.shows("look into the lock first: enter"));
  screen.type("\r");
  EXPECT_TRUE(screen.shows("held by"));
  screen.type("f");
  EXPECT_TRUE(screen.shows("lock."));
  EXPECT_TRUE(screen.shows("y end this hold  any other key: leave it"));
  screen.type("nq");
  EXPECT_EQ(screen.wait(), 0);
  auto away = open({"--store", "redis://127.0.0.1:1"});
  away.resize(24, 80);
  EXPECT_TRUE(away.shows("Connection refused"));
  away.type("q");
  EXPECT_EQ(away.wait(), 0);
}

TEST_F(top, fits_a_window_that_is_resized) {
  const auto holder = start_holder("nightly");
  auto screen = open();
  EXPECT_TRUE(screen.shows("q quit"));
  screen.resize(24, 80);
  EXPECT_TRUE(screen.shows("\x1b[H"));
  EXPECT_TRUE(screen.shows("q quit"));
  screen.resize(2, 9);
  EXPECT_TRUE(screen.shows("\x1b[H"));
  screen.type("q");
  EXPECT_EQ(screen.wait(), 0);
}

TEST_F(top, ends_by_ctrl_c_and_leaves_the_terminal_in_order) {
  auto screen = open();
  EXPECT_TRUE(screen.shows("0 locks, by waiters"));
  screen.type("\x03");
  EXPECT_TRUE(screen.shows("\x1b[?1049l"));
  EXPECT_EQ(screen.wait(), 128 + SIGINT);
}

TEST_F(top, stays_usable_over_a_store_that_does_not_answer) {
  redis_server server;
  auto screen = open({"--store", server.url()});
  EXPECT_TRUE(screen.shows("0 locks, by waiters"));
  server.stop();
  EXPECT_TRUE(screen.shows("no answer for "));
  screen.type("q");
  EXPECT_EQ(screen.wait(), 0);
  server.go_on();
}

}  // namespace
}  // namespace holdfast::test
