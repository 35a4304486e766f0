// SPDX-License-Identifier: Apache-2.0
// What a majority of several servers says: of the time, of a lock, and of all locks.

#include <gtest/gtest.h>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "base/owner_id.hpp"
#include "stores/quorum/protocol/ballots.hpp"
#include "stores/quorum/protocol/place_in_time.hpp"
#include "stores/quorum/protocol/shared_view.hpp"

namespace holdfast::quorum {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;

// ---- place_in_time

constexpr store::time_point today{1h};
constexpr microseconds wall = 1'000'000h;

fencing_token number_at(microseconds clock) {
  return fencing_token{static_cast<std::uint64_t>(clock.count())};
}

place_in_time three_clocks() {
  place_in_time places{3};
  for (std::size_t i = 0; i < 3; ++i) places.hear(i, wall, today, today);
  return places;
}

TEST(quorum_place_in_time, is_known_from_a_majority_of_the_clocks) {
  place_in_time places{5};
  for (const std::size_t server : {0, 3}) places.hear(server, wall, today, today);
  places.hear(3, wall, today, today);
  EXPECT_FALSE(places.is_known());
  places.hear(4, wall, today, today);
  EXPECT_TRUE(places.is_known());
}

TEST(quorum_place_in_time, rises_with_the_time_of_the_servers) {
  place_in_time places = three_clocks();
  const auto first = places.next(today);
  EXPECT_GT(first, number_at(wall)) << "a server that has forgotten its tokens has to accept it";
  EXPECT_LT(first, number_at(wall + 1s));
  EXPECT_GE(places.next(today + 1h), number_at(wall + 1h));
}

TEST(quorum_place_in_time, gives_no_number_twice_and_none_that_is_smaller) {
  place_in_time places = three_clocks();
  const auto first = places.next(today);
  const auto second = places.next(today);
  EXPECT_GT(second, first);
  for (std::size_t i = 0; i < 3; ++i) places.hear(i, wall - 1h, today, today);
  EXPECT_GT(places.next(today), second) << "the servers' clocks were set back";
}

TEST(quorum_place_in_time, is_the_same_whatever_a_minority_of_the_clocks_says) {
  for (const auto mad : {-wall, -microseconds{1h}, microseconds{1h}, wall}) {
    for (const std::size_t liars : {1, 2}) {
      place_in_time places{5};
      for (std::size_t i = 0; i < 5; ++i)
        places.hear(i, i < liars ? wall + mad : wall + microseconds{i}, today, today);
      const auto number = places.next(today);
      EXPECT_GT(number, number_at(wall)) << liars << " are off by " << mad.count();
      EXPECT_LT(number, number_at(wall + 1s)) << liars << " are off by " << mad.count();
    }
  }
}

TEST(quorum_place_in_time, follows_a_clock_that_was_set) {
  place_in_time places = three_clocks();
  for (std::size_t i = 0; i < 2; ++i) places.hear(i, wall + 1h, today, today);
  EXPECT_GE(places.next(today), number_at(wall + 1h));
}

// ---- shared_view

/// Of servers that have all answered.
state_answers views(const std::vector<std::optional<lock_state>>& all) {
  state_answers answers;
  for (const auto& each : all)
    answers.push_back({"lock-" + std::to_string(answers.size()) + ":6379", {each}, {}});
  return answers;
}

/// What a majority of these servers says.
std::optional<lock_state> seen_by(const std::vector<std::optional<lock_state>>& all) {
  return view_of("stock", views(all), ballots::majority_of(all.size()));
}

claim_state sighted(const std::string& owner, std::uint64_t token, duration left = 10s) {
  claim_state c;
  c.owner = owner;
  c.token = fencing_token{token};
  c.expires_in = left;
  return c;
}
lock_state view(std::vector<claim_state> holders, std::vector<claim_state> waiters = {},
                std::uint64_t last = 0) {
  lock_state s;
  s.name = "as a server calls it";
  s.holders = std::move(holders);
  s.waiters = std::move(waiters);
  s.last_token = fencing_token{last};
  return s;
}
std::vector<std::string> owners_of(const std::vector<claim_state>& all) {
  std::vector<std::string> owners;
  for (const auto& each : all) owners.push_back(each.owner);
  return owners;
}
using names = std::vector<std::string>;

TEST(quorum_view, of_a_name_that_nobody_uses_is_empty) {
  EXPECT_FALSE(seen_by({std::nullopt, std::nullopt, std::nullopt}));
}

TEST(quorum_view, has_as_holder_what_a_majority_names) {
  const auto seen =
      seen_by({view({sighted("a", 5, 7s)}, {sighted("b", 6)}, 5),
               view({sighted("a", 5, 9s)}, {sighted("b", 6)}, 5), view({sighted("b", 6)}, {}, 6)});
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->name, "stock");
  EXPECT_EQ(owners_of(seen->holders), names{"a"});
  EXPECT_EQ(seen->holders[0].expires_in, duration{9s});
  EXPECT_EQ(owners_of(seen->waiters), names{"b"});
  EXPECT_EQ(seen->last_token, fencing_token{5}) << "the other number is one that no majority has accepted";
}

// A majority may have granted a claim before it has accepted one number as its token. A server that forgot
// the hold and got it back with a renewal has no token for it. Two claims may propose one number where clocks
// are coarse: a server that knows it from the former holder does not accept it, and where a server knows a
// greater one, the claim will propose another.
TEST(quorum_view, has_the_holder_that_a_majority_grants_with_one_token) {
  const std::string o(owner_id::size * 2, 'a');
  const auto with = [&](std::uint64_t token) { return view({sighted(o, token)}); };
  const auto without_token = [&](std::uint64_t last) { return view({sighted(o, 0)}, {}, last); };
  const auto foreign = view({sighted("plain text", 0)});
  const auto nobody = view({});
  const struct {
    const char* name;
    std::vector<std::optional<lock_state>> said;
    names holders;
    names waiters{};  // in the order in which they will be served
    std::uint64_t token = 0;
  } all[] = {
      {"split votes",
       {view({sighted("c", 7)}), view({sighted("a", 5)}), view({sighted("b", 6)})},
       {},
       {"a", "b", "c"}},
      {"missing answers", {view({sighted("a", 5)}), std::nullopt, std::nullopt}, {}, {"a"}},
      {"the token that was proposed last", {with(5), with(9), with(9)}, {o}, {}, 9},
      {"a foreign holder", {foreign, foreign, view({sighted("a", 5)})}, {"plain text"}, {"a"}},
      {"two tokens", {with(5), with(6), nobody}, {}, {o}},
      {"two tokens and none", {with(5), with(6), with(0)}, {}, {o}},
      {"no token", {with(0), with(0), with(0)}, {}, {o}},
      {"one server without", {with(5), with(0), with(5)}, {o}, {}, 5},
      {"one server with another", {with(5), with(4), with(5)}, {o}, {}, 5},
      {"two servers without", {with(5), with(0), with(0)}, {o}, {}, 5},
      {"a number below", {view({sighted(o, 5)}, {}, 5), without_token(4), nobody}, {o}, {}, 5},
      {"a number of a former holder", {view({sighted(o, 5)}, {}, 5), without_token(5), nobody}, {}, {o}},
      {"a greater number", {view({sighted(o, 5)}, {}, 5), without_token(6), nobody}, {}, {o}},
  };
  for (const auto& each : all) {
    SCOPED_TRACE(each.name);
    const auto seen = seen_by(each.said);
    ASSERT_TRUE(seen);
    EXPECT_EQ(owners_of(seen->holders), each.holders);
    EXPECT_EQ(owners_of(seen->waiters), each.waiters);
    if (!seen->holders.empty()) {
      EXPECT_EQ(seen->holders[0].token, fencing_token{each.token});
    }
  }
}

// What the former value of a leader was asked is not asked of the one that has replaced it.
TEST(quorum_view, shows_a_request_to_release_with_the_value_that_it_came_after) {
  claim_state former = sighted("a", 5);
  former.claimant.value_revision = 1;
  former.claimant.release_request = "deploy";
  claim_state newer = sighted("a", 5);
  newer.claimant.value_revision = 2;
  for (const auto& all : {views({view({former}), view({newer}), view({newer})}),
                          views({view({newer}), view({newer}), view({former})})}) {
    EXPECT_FALSE(view_of("stock", all, 2)->holders.at(0).claimant.release_request);
  }
  const auto merged = seen_by({view({newer}), view({former}), view({former})});
  EXPECT_FALSE(merged->holders.at(0).claimant.release_request);
  newer.claimant.release_request = "again";
  EXPECT_EQ(seen_by({view({former}), view({newer})})->holders.at(0).claimant.release_request, "again");
}

// A server that was out of reach when the leader replaced its value has the former one.
TEST(quorum_view, shows_the_newest_value_of_a_leader) {
  claim_state former = sighted("a", 5);
  former.claimant.value = "starting";
  claim_state newest = former;
  newest.claimant.value = "ready";
  newest.claimant.value_revision = 1;
  for (const auto& seen : {seen_by({view({former}), view({newest}), view({newest})}),
                           seen_by({view({newest}), view({newest}), view({former})})}) {
    ASSERT_EQ(seen->holders.size(), 1U);
    EXPECT_EQ(seen->holders[0].claimant.value, "ready");
  }
}

TEST(quorum_view, is_paused_where_a_majority_is) {
  auto paused = view({});
  paused.paused_for = 5s;
  paused.pause_reason = "started";
  EXPECT_EQ(seen_by({paused, view({}), view({})})->paused_for, duration{});
  EXPECT_EQ(seen_by({paused, view({}), view({})})->pause_reason, "");
  EXPECT_EQ(seen_by({paused, paused, view({})})->paused_for, duration{5s});
  EXPECT_EQ(seen_by({paused, paused, view({})})->pause_reason, "lock-0:6379: started");
  paused.pause_reason = "lock-0:6379: started";
  EXPECT_EQ(seen_by({paused, paused, view({})})->pause_reason, "lock-0:6379: started");
}

lock_summary summary(const std::string& name, std::uint64_t holders, std::uint64_t waiters = 0,
                     std::uint64_t last = 5, std::uint64_t token = 5) {
  lock_summary s;
  s.name = name;
  s.holders = holders;
  s.waiters = waiters;
  s.last_token = fencing_token{last};
  if (holders != 0) {
    s.holder_token = fencing_token{token};
    s.held_for = 3s;
    s.holder.program = "a program";
  }
  return s;
}

std::vector<std::string> texts_of(const std::vector<server_note>& notes) {
  std::vector<std::string> texts;
  for (const auto& each : notes)
    texts.push_back(each.server + (each.answers ? " " : " unheard ") + each.text);
  return texts;
}

TEST(quorum_view, notes_the_servers_that_differ_and_those_that_are_not_heard) {
  claim_state foreign = sighted("plain text", 0);
  auto paused = view({sighted("a", 5)});
  paused.paused_for = 5s;
  paused.pause_reason = "the server was started 1 s ago";
  auto answers = views({view({sighted("a", 5)}), view({sighted("a", 5)}), paused, std::nullopt,
                        view({foreign}), view({sighted("b", 6)}), std::nullopt});
  answers.back().said.reset();
  answers.back().problem = "does not answer";
  const auto seen = view_of("stock", answers, 3);
  ASSERT_TRUE(seen);
  EXPECT_EQ(owners_of(seen->holders), names{"a"});
  EXPECT_EQ(texts_of(seen->notes),
            (names{"lock-6:6379 unheard does not answer", "lock-2:6379 the server was started 1 s ago",
                   "lock-3:6379 does not have the hold of the claim 5",
                   "lock-4:6379 does not have the hold of the claim 5",
                   "lock-4:6379 has a hold of another library's client, which has no majority",
                   "lock-5:6379 does not have the hold of the claim 5",
                   "lock-5:6379 has a hold of the claim 6, which has no majority"}));
}

TEST(quorum_view, notes_the_servers_that_are_not_heard_of_a_name_that_nobody_uses) {
  auto answers = views({std::nullopt, std::nullopt, std::nullopt});
  answers.back().said.reset();
  answers.back().problem = "does not answer";
  const auto seen = view_of("stock", answers, 2);
  ASSERT_TRUE(seen) << "else a watch would say that the server answers again";
  EXPECT_TRUE(seen->holders.empty() && seen->waiters.empty());
  EXPECT_EQ(texts_of(seen->notes), names{"lock-2:6379 unheard does not answer"});
}

TEST(quorum_view, notes_nothing_where_all_say_the_same) {
  const auto one = view({sighted("a", 5)}, {sighted("b", 6)});
  EXPECT_TRUE(seen_by({one, one, one})->notes.empty());
}

/// Of servers that have all answered.
listings listed(std::initializer_list<std::vector<lock_summary>> all) {
  listings answers;
  for (const auto& each : all) answers.push_back({"lock:" + std::to_string(answers.size()), {each}, {}});
  return answers;
}

/// What a majority says of the only name.
lock_summary only(const listings& answers) {
  const auto all = view_of(answers, ballots::majority_of(answers.size()), false);
  return all.size() == 1 ? all.front() : lock_summary{};
}

TEST(quorum_listing, notes_the_servers_that_are_not_heard) {
  auto answers = listed({{summary("a", 1)}, {summary("a", 1)}, {}});
  answers.back().said.reset();
  answers.back().problem = "does not answer";
  const auto all = view_of(answers, 2, false);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(texts_of(all[0].notes), names{"lock:2 unheard does not answer"});
}

TEST(quorum_listing, has_each_name_once_with_what_a_majority_holds) {
  const auto all = view_of(
      listed({{summary("a", 1), summary("b", 1)}, {summary("a", 1, 2, 6)}, {summary("c", 0, 1)}}), 2, false);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].name, "a");
  EXPECT_EQ(all[0].holders, 1U);
  EXPECT_EQ(all[0].waiters, 2U);
  EXPECT_EQ(all[0].last_token, fencing_token{5}) << "the other number is one that no majority has accepted";
  EXPECT_EQ(all[0].holder.program, "a program");
  EXPECT_EQ(all[1].name, "b");
  EXPECT_EQ(all[1].holders, 0U) << "one vote is no hold";
  EXPECT_EQ(all[1].waiters, 1U);
  EXPECT_EQ(all[1].held_for, duration{});
  EXPECT_EQ(all[1].holder.program, "");
  EXPECT_EQ(all[2].waiters, 1U);
}

lock_summary held_by(const std::string& program, std::uint64_t token) {
  lock_summary s = summary("a", 1, 1, token, token);
  s.holder.program = program;
  return s;
}

// A server that was away grants the next claim, and accepts a greater number, before the holder gets it back.
TEST(quorum_listing, has_the_holder_that_a_majority_names_and_not_the_latest) {
  const struct {
    listings said;
    const char* program;
    std::uint64_t token = 0;
  } all[] = {
      {listed({{held_by("first", 5)}, {held_by("second", 6)}, {held_by("first", 5)}}), "first", 5},
      {listed({{held_by("first", 5)}, {held_by("second", 6)}, {held_by("third", 7)}}), ""},
      {listed({{held_by("first", 0)}, {held_by("first", 5)}, {held_by("second", 6)}}), "first", 5},
  };
  for (const auto& each : all) {
    const auto one = only(each.said);
    EXPECT_EQ(one.holders, each.token == 0 ? 0U : 1U);
    EXPECT_EQ(one.holder.program, each.program);
    EXPECT_EQ(one.holder_token, fencing_token{each.token});
  }
}

TEST(quorum_listing, counts_readers_of_whom_each_server_has_another_oldest) {
  auto views = listed({{held_by("first", 5)}, {held_by("second", 6)}, {held_by("third", 7)}});
  for (auto& each : views) each.said->front().mode = mode::shared;
  const auto all = view_of(views, 2, false);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].holders, 1U);
}

TEST(quorum_listing, has_idle_names_if_they_are_asked_for) {
  const auto idle = listed({{summary("a", 0)}, {summary("a", 0)}, {}});
  EXPECT_TRUE(view_of(idle, 2, false).empty());
  ASSERT_EQ(view_of(idle, 2, true).size(), 1U);
}

TEST(quorum_listing, counts_readers_that_a_majority_has) {
  const auto one = only(listed({{summary("a", 3)}, {summary("a", 2)}, {summary("a", 1)}}));
  EXPECT_EQ(one.holders, 2U);
}

}  // namespace
}  // namespace holdfast::quorum
