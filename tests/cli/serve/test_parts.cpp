// SPDX-License-Identifier: Apache-2.0
// The parts of `holdfast serve` as functions: what they keep, and how much of it.

#include <atomic>
#include <chrono>
#include <fmt/format.h>
#include <future>
#include <gmock/gmock.h>

#include "output/text.hpp"
#include "serve/history.hpp"
#include "serve/metrics.hpp"
#include "serve/overdue.hpp"
#include "serve/route.hpp"
#include "serve/snapshot.hpp"
#include "serve/worker.hpp"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using namespace cli;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr boot_clock::time_point start_of_time{1h};

lock_summary lock_of(const std::string& name, std::uint64_t token, std::uint64_t waiters = 0) {
  lock_summary one;
  one.name = name;
  one.holders = token == 0 ? 0 : 1;
  one.waiters = waiters;
  one.last_token = one.holder_token = fencing_token{token};
  one.held_for = 1s;
  one.holder.host = "host";
  one.holder.pid = static_cast<std::int64_t>(token);
  return one;
}

store_reader::view view_of(std::vector<lock_summary> locks, duration after, wait_lengths waits = {},
                           std::vector<std::string> inspected = {}) {
  for (const auto& [name, length] : waits) inspected.push_back(name);
  return {.locks = std::move(locks),
          .inspected = std::move(inspected),
          .longest_waits = std::move(waits),
          .detail = {},
          .headlines = {},
          .when = start_of_time + after};
}

std::vector<std::string> names_of(const std::vector<const lock_row*>& rows) {
  std::vector<std::string> names;
  for (const auto* row : rows) names.push_back(row->lock.name);
  return names;
}

TEST(serve_snapshot, changes_when_something_but_the_age_has_changed) {
  snapshot_keeper keeper;
  EXPECT_THAT(names_of(keeper.update(view_of({lock_of("b", 1), lock_of("a", 2)}, 0s)).changed),
              ElementsAre("a", "b"));
  EXPECT_EQ(keeper.last().revision, 1U);
  auto older = lock_of("a", 2);
  older.held_for = 9s;
  EXPECT_THAT(names_of(keeper.update(view_of({older, lock_of("b", 1)}, 1s)).changed), IsEmpty());
  EXPECT_EQ(keeper.last().revision, 1U);
  EXPECT_THAT(names_of(keeper.update(view_of({older, lock_of("b", 1, 3)}, 2s)).changed), ElementsAre("b"));
  auto requested = older;
  requested.holder.release_request = "deploy";
  EXPECT_THAT(names_of(keeper.update(view_of({requested, lock_of("b", 1, 3)}, 3s)).changed),
              ElementsAre("a"));
  const auto last = keeper.update(view_of({lock_of("c", 5)}, 4s));
  EXPECT_THAT(names_of(last.changed), ElementsAre("c"));
  EXPECT_THAT(last.removed, ElementsAre("a", "b"));
  EXPECT_EQ(keeper.last().revision, 4U);
}

TEST(serve_snapshot, knows_a_wait_until_somebody_is_granted) {
  snapshot_keeper keeper;
  keeper.update(view_of({lock_of("a", 1, 2)}, 0s));
  EXPECT_TRUE(describe(keeper.last().rows[0], start_of_time)["longest_wait_s"].is_null());
  keeper.update(view_of({lock_of("a", 1, 2)}, 10s, {{"a", 4s}}));
  EXPECT_EQ(describe(keeper.last().rows[0], start_of_time + 10s)["longest_wait_s"], 4.0);
  keeper.update(view_of({lock_of("a", 1, 1)}, 20s));
  EXPECT_EQ(describe(keeper.last().rows[0], start_of_time + 20s)["longest_wait_s"], 14.0) << "it goes on";
  keeper.update(view_of({lock_of("a", 2, 1)}, 21s));
  EXPECT_TRUE(describe(keeper.last().rows[0], start_of_time + 21s)["longest_wait_s"].is_null());
  keeper.update(view_of({lock_of("a", 3)}, 22s));
  EXPECT_EQ(describe(keeper.last().rows[0], start_of_time + 22s)["longest_wait_s"], 0) << "nobody waits";
}

TEST(serve_snapshot, looks_at_all_names_with_waiters_in_turn) {
  snapshot_keeper keeper;
  const std::vector<lock_summary> all{lock_of("a", 1, 1), lock_of("b", 2, 5), lock_of("c", 3, 3),
                                      lock_of("d", 4)};
  keeper.update(view_of(all, 0s));
  EXPECT_THAT(keeper.waits().names_to_look_at(2), ElementsAre("b", "c")) << "most waiters first";
  keeper.update(view_of(all, 1s, {{"b", 1s}, {"c", 1s}}));
  EXPECT_THAT(keeper.waits().names_to_look_at(1), ElementsAre("a"));
  keeper.update(view_of(all, 2s, {{"a", 1s}, {"c", 2s}}));
  EXPECT_THAT(keeper.waits().names_to_look_at(1), ElementsAre("b"))
      << "the one that was not looked at for longest";
  EXPECT_THAT(keeper.waits().names_to_look_at(9), ElementsAre("a", "b", "c"));
}

TEST(serve_snapshot, lets_no_name_without_a_known_wait_keep_the_others_from_their_turn) {
  snapshot_keeper keeper;
  std::vector<lock_summary> all{lock_of("a", 1, 9), lock_of("b", 2, 1)};
  keeper.update(view_of(all, 0s));
  EXPECT_THAT(keeper.waits().names_to_look_at(1), ElementsAre("a"));
  keeper.update(view_of(all, 1s, {}, {"a"}));
  EXPECT_THAT(keeper.waits().names_to_look_at(1), ElementsAre("b"))
      << "a was looked at, though nobody was found";
  keeper.update(view_of(all, 2s, {{"b", 1s}}));
  all.front().last_token = fencing_token{3};
  all.push_back(lock_of("c", 4, 9));
  keeper.update(view_of(all, 3s, {{"a", 1s}}));
  EXPECT_THAT(keeper.waits().names_to_look_at(1), ElementsAre("b")) << "a name that is new stands behind";
}

TEST(serve_snapshot, of_a_huge_store_has_a_bound) {
  snapshot_keeper keeper;
  std::vector<lock_summary> all;
  for (int i = 0; i < 25'000; ++i) all.push_back(lock_of(fmt::format("{:05}", i), 1));
  keeper.update(view_of(std::move(all), 0s));
  EXPECT_EQ(keeper.last().rows.size(), snapshot::most_rows);
  EXPECT_EQ(keeper.last().total, 25'000U);
}

TEST(serve_history, is_bounded_for_a_name_and_for_all) {
  snapshot_keeper keeper;
  hand_over_history history;
  const auto see = [&](std::vector<lock_summary> locks) {
    keeper.update(view_of(std::move(locks), 0s));
    return history.update(keeper.previous(), keeper.last());
  };
  EXPECT_THAT(see({lock_of("x", 1)}), IsEmpty()) << "of the first reading nobody knows";
  EXPECT_THAT(see({lock_of("x", 1)}), IsEmpty());
  for (std::uint64_t token = 2; token <= 300; ++token)
    EXPECT_THAT(see({lock_of("x", token)}), ElementsAre("x"));
  const auto events = history.describe("x", start_of_time)["events"];
  EXPECT_EQ(events.size(), hand_over_history::most_of_a_name);
  EXPECT_EQ(events.front()["token"], 101);
  EXPECT_FALSE(events[198]["ended_ago_s"].is_null());
  EXPECT_TRUE(events[199]["ended_ago_s"].is_null());
  std::vector<lock_summary> many;
  for (int i = 0; i < 10'050; ++i) many.push_back(lock_of(fmt::format("name-{:05}", i), 1));
  see(many);
  EXPECT_EQ(history.size(), hand_over_history::most);
  EXPECT_TRUE(history.describe("x", start_of_time).is_null()) << "the oldest are forgotten";
  see({});
  EXPECT_FALSE(history.describe("name-10049", start_of_time)["events"][0]["ended_ago_s"].is_null());
  EXPECT_EQ(history.size(), hand_over_history::most);
}

TEST(serve_metrics, have_a_bounded_number_of_prefixes) {
  metrics_board board{"store"};
  std::vector<lock_summary> all;
  for (int i = 0; i < 300; ++i) all.push_back(lock_of(fmt::format("p{}/x", i), 1, 2));
  all.push_back(lock_of(std::string(200, 'l') + "/x", 1));
  board.count(all, start_of_time);
  const auto text = board.text(true, start_of_time, false);
  EXPECT_THAT(text, HasSubstr("holdfast_locks_held{store=\"store\",prefix=\"p99\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("prefix=\"p100\"")));
  EXPECT_THAT(text, HasSubstr("holdfast_locks_held{store=\"store\",prefix=\"other\"} 201\n"));
  EXPECT_THAT(text, HasSubstr("holdfast_waiters{store=\"store\",prefix=\"other\"} 400\n"));
}

TEST(serve_metrics, invent_no_age_for_a_hold_of_another_library) {
  metrics_board board{"store"};
  auto foreign = lock_of("a/x", 1);
  foreign.holder_token = fencing_token{};
  foreign.held_for = 0s;
  board.count({foreign}, start_of_time);
  const auto text = board.text(true, start_of_time + 1h, false);
  EXPECT_THAT(text, HasSubstr("holdfast_locks_held{store=\"store\",prefix=\"a\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("\nholdfast_longest_hold_seconds{")));
  board.count({foreign, lock_of("a/y", 2)}, start_of_time);
  EXPECT_THAT(board.text(true, start_of_time + 1h, false),
              HasSubstr("holdfast_longest_hold_seconds{store=\"store\",prefix=\"a\"} 3601\n"));
  board.count({}, start_of_time);
  EXPECT_THAT(board.text(true, start_of_time + 1h, false),
              HasSubstr("holdfast_longest_hold_seconds{store=\"store\",prefix=\"a\"} 0\n"));
}

TEST(serve_metrics, invent_no_wait_that_was_not_looked_at) {
  metrics_board board{"store"};
  snapshot_keeper keeper;
  const std::vector<lock_summary> all{lock_of("a/x", 1, 2), lock_of("a/y", 2, 1), lock_of("b/x", 3)};
  const auto text_after = [&](duration after, const wait_lengths& waits) {
    board.count(all, start_of_time + after);
    keeper.update(view_of(all, after, waits));
    board.add(keeper.waits(), {});
    return board.text(true, start_of_time + after, false);
  };
  const std::string of_a = "\nholdfast_longest_wait_seconds{store=\"store\",prefix=\"a\"}";
  const auto unknown = text_after(0s, {});
  EXPECT_THAT(unknown, Not(HasSubstr(of_a))) << "two names have waiters, and neither was looked at";
  EXPECT_THAT(unknown, HasSubstr("\nholdfast_longest_wait_seconds{store=\"store\",prefix=\"b\"} 0\n"));
  EXPECT_THAT(text_after(10s, {{"a/y", 4s}}), HasSubstr(of_a + " 4\n"));
}

TEST(serve_metrics, have_the_wait_for_a_name_beyond_the_rows) {
  metrics_board board{"store"};
  snapshot_keeper keeper;
  std::vector<lock_summary> all;
  for (std::size_t i = 0; i < snapshot::most_rows; ++i) all.push_back(lock_of(fmt::format("{:05}", i), 1));
  all.push_back(lock_of("z/last", 1, 1));
  keeper.update(view_of(all, 0s));
  EXPECT_THAT(keeper.waits().names_to_look_at(20), ElementsAre("z/last"));
  board.count({all.back()}, start_of_time);
  keeper.update(view_of(all, 1s, {{"z/last", 600s}}));
  board.add(keeper.waits(), {});
  EXPECT_THAT(board.text(true, start_of_time + 1s, false),
              HasSubstr("\nholdfast_longest_wait_seconds{store=\"store\",prefix=\"z\"} 600\n"));
}

TEST(serve_metrics, say_nothing_of_what_a_store_has_that_is_away) {
  metrics_board board{"store"};
  snapshot_keeper keeper;
  const std::vector<lock_summary> all{lock_of("a/x", 1, 2)};
  board.count(all, start_of_time);
  keeper.update(view_of(all, 0s, {{"a/x", 4s}}));
  board.add(keeper.waits(), {"a/x"});
  const std::vector<std::string> of_now{"holdfast_locks_held", "holdfast_waiters",
                                        "holdfast_longest_wait_seconds", "holdfast_longest_hold_seconds"};
  for (const bool is_open_metrics : {false, true}) {
    const auto up = board.text(true, start_of_time, is_open_metrics);
    const auto away = board.text(false, start_of_time + 1h, is_open_metrics);
    for (const auto& name : of_now) {
      EXPECT_THAT(up, HasSubstr("\n" + name + "{store=\"store\",prefix=\"a\"} "));
      EXPECT_THAT(away, Not(HasSubstr(name)));
    }
    EXPECT_THAT(up, Not(HasSubstr("holdfast_deadlocks"))) << "they are not known";
    EXPECT_THAT(board.text(true, start_of_time, is_open_metrics, 2),
                HasSubstr("\nholdfast_deadlocks{store=\"store\"} 2\n"));
    EXPECT_THAT(board.text(false, start_of_time, is_open_metrics, 2), Not(HasSubstr("holdfast_deadlocks")));
    EXPECT_THAT(up, HasSubstr("\nholdfast_store_up{store=\"store\"} 1\n"));
    EXPECT_THAT(away, HasSubstr("\nholdfast_store_up{store=\"store\"} 0\n"));
    EXPECT_THAT(away, HasSubstr("\nholdfast_handovers_total{store=\"store\",prefix=\"a\"} 1\n"));
  }
}

TEST(serve_metrics, have_prefixes_up_to_the_first_slash_or_colon) {
  EXPECT_EQ(prefix_of("a/b:c"), "a");
  EXPECT_EQ(prefix_of("a:b/c"), "a");
  EXPECT_EQ(prefix_of("plain"), "plain");
  EXPECT_EQ(prefix_of("/x"), "");
}

TEST(serve_overdue, leaves_time_for_a_pause_and_a_reading_as_long_as_the_last_one) {
  EXPECT_EQ(overdue_after(100ms, 0s), 5s);
  EXPECT_EQ(overdue_after(4s, 1s), 12s);
  EXPECT_EQ(overdue_after(1s, 20s), 60s);
}

TEST(serve_worker, begins_no_job_after_its_deadline) {
  std::promise<void> begun;
  std::promise<void> go_on;
  std::promise<void> ended;
  std::atomic<bool> has_run = false;
  bool has_expired = false;
  worker one{3};
  ASSERT_TRUE(one.add({.run = [&] {
    begun.set_value();
    go_on.get_future().wait();
  }}));
  begun.get_future().wait();
  const auto deadline = boot_clock::now() + 1h;
  const auto run = [&] { has_run = true; };
  ASSERT_TRUE(one.add({.run = run, .deadline = deadline, .expire = [&] { has_expired = true; }}));
  ASSERT_TRUE(one.add({.run = run, .deadline = boot_clock::now(), .expire = [&] { ended.set_value(); }}));
  EXPECT_FALSE(one.add({.run = run})) << "with the one that is being done there are three";
  one.expire(boot_clock::time_point{});
  EXPECT_FALSE(has_expired);
  one.expire(deadline - 1ns);
  EXPECT_FALSE(has_expired);
  ended.get_future().wait();
  one.expire(deadline);
  EXPECT_TRUE(has_expired) << "while the first one is being done";
  std::promise<void> late;
  ASSERT_TRUE(one.add({.run = run, .deadline = boot_clock::now(), .expire = [&] { late.set_value(); }}));
  go_on.set_value();
  late.get_future().wait();
  EXPECT_FALSE(has_run);
}

TEST(serve_route, decodes_names_and_takes_no_path_for_one) {
  EXPECT_EQ(route_of("/api/locks/a%2Fb").to, endpoint::lock);
  EXPECT_EQ(route_of("/api/locks/a%2Fb").name, "a/b");
  EXPECT_EQ(route_of("/api/locks/a%2fask/ask").to, endpoint::ask);
  EXPECT_EQ(route_of("/api/locks/a%2fask/ask").name, "a/ask");
  EXPECT_EQ(route_of("/api/locks/ask").to, endpoint::lock);
  EXPECT_EQ(route_of("/api/locks/a/b").to, endpoint::page);
  EXPECT_EQ(route_of("/api/locks/").to, endpoint::page);
  for (const auto* wrong :
       {"/api/locks/%", "/api/locks/%4", "/api/locks/%zz", "/api/locks/%+1", "/api/why/%0x"})
    EXPECT_EQ(route_of(wrong).to, endpoint::malformed) << wrong;
  EXPECT_EQ(route_of("/api/locks/..").name, "..");
  EXPECT_TRUE(route_of("/api/doctor?fresh=1").is_fresh);
  EXPECT_FALSE(route_of("/api/doctor?x=fresh=1").is_fresh);
}

TEST(serve_route, takes_one_mark_from_before_a_name) {
  EXPECT_EQ(route_of("/api/locks/=..").to, endpoint::lock);
  EXPECT_EQ(route_of("/api/locks/=..").name, "..");
  EXPECT_EQ(route_of("/api/locks/=a%2Fb").name, "a/b");
  EXPECT_EQ(route_of("/api/locks/==").name, "=");
  EXPECT_EQ(route_of("/api/locks/==x=").name, "=x=");
  EXPECT_EQ(route_of("/api/locks/=%3Dx").name, "=x");
  EXPECT_EQ(route_of("/api/locks/%3Dx").name, "=x") << "an escaped one is of the name";
  EXPECT_EQ(route_of("/api/locks/x=y").name, "x=y");
  EXPECT_EQ(route_of("/api/why/=.").to, endpoint::chain);
  EXPECT_EQ(route_of("/api/why/=.").name, ".");
  for (const auto& [path, to] : {std::pair{"/api/locks/=../timeline", endpoint::timeline},
                                 std::pair{"/api/locks/=../ask", endpoint::ask},
                                 std::pair{"/api/locks/=../release", endpoint::release}}) {
    EXPECT_EQ(route_of(path).to, to);
    EXPECT_EQ(route_of(path).name, "..");
  }
  EXPECT_EQ(route_of("/api/locks/=").to, endpoint::page) << "no name is empty";
  EXPECT_EQ(route_of("/api/why/=").to, endpoint::page);
  EXPECT_EQ(route_of("/api/locks/=/release").to, endpoint::page);
}

}  // namespace
}  // namespace holdfast::test
