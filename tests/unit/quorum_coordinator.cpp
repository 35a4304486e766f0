// The requests of a client to several servers, on virtual time: what a majority of the answers makes of them.

#include <algorithm>
#include <deque>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/virtual_time.hpp"
#include "stores/quorum/protocol/coordinator.hpp"
#include "unit/quorum_votes.hpp"

namespace holdfast::quorum {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using tickets::ballot_step;
using tickets::task;
using outcome = coordinator::outcome;

class quorum_coordinator : public testing::Test, protected votes {
 protected:
  using servers = std::set<std::size_t>;
  static inline const servers everywhere{0, 1, 2, 3, 4};

  struct sent {
    tickets::request request;
    coordinator::on_reply done;
  };
  using answer = std::shared_ptr<std::optional<outcome>>;

  answer send(tickets::request r) {
    auto got = std::make_shared<std::optional<outcome>>();
    time_.turn([&] {
      coordinator_.send(std::move(r), [got](outcome o) {
        EXPECT_FALSE(*got) << "answered twice";
        *got = std::move(o);
      });
      EXPECT_FALSE(*got) << "answered within the call";
    });
    return got;
  }
  void reply(std::size_t server, const outcome& o) {
    ASSERT_FALSE(in_flight_[server].empty()) << "nothing was asked of server " << server;
    const auto first = std::move(in_flight_[server].front());
    in_flight_[server].pop_front();
    time_.turn([&] { first.done(o); });
  }
  void reply(const servers& of, const outcome& o) {
    for (const std::size_t server : of) reply(server, o);
  }
  [[nodiscard]] servers addressees(task kind, ballot_step step = ballot_step::none) const {
    servers all;
    for (std::size_t i = 0; i < 5; ++i) {
      for (const sent& each : in_flight_[i])
        if (each.request.kind == kind && each.request.step == step) all.insert(i);
    }
    return all;
  }
  [[nodiscard]] const tickets::request& first_at(std::size_t server) const {
    return in_flight_[server].front().request;
  }

  /// The servers' clocks are known, and the claim was sent.
  answer begin(tickets::request r) {
    auto got = send(std::move(r));
    reply(everywhere, of(refused("")));
    EXPECT_EQ(addressees(task::acquire, ballot_step::claim), everywhere);
    return got;
  }
  /// A claim that holds by some servers; the others have not answered.
  void hold_at(const servers& of_them) {
    const auto got = begin(claim(true));
    reply(of_them, grant());
    ASSERT_TRUE(*got);
  }
  [[nodiscard]] outcome grant() const {
    auto at = granted();
    at.vote->accepted = at.vote->fence = first_at_any().token;
    return of(at);
  }
  [[nodiscard]] tickets::request first_at_any() const {
    for (const auto& each : in_flight_)
      if (!each.empty()) return each.front().request;
    return {};
  }
  static tickets::request request(task kind) {
    auto r = claim(true);
    r.kind = kind;
    return r;
  }
  static tickets::request renewal() {
    tickets::request r;
    r.kind = task::renew;
    r.batch.push_back({"stock", claim(true).owner, fencing_token{number}, 30s});
    return r;
  }
  static outcome kept(bool is_kept) { return of(tickets::kept{{is_kept}, {}}); }
  static outcome unsure() { return of(tickets::kept{{false}, {0}}); }

  template <class Reply>
  static const Reply* in(const answer& got) {
    const auto* const any = *got ? std::get_if<tickets::reply>(&**got) : nullptr;
    return any == nullptr ? nullptr : std::get_if<Reply>(any);
  }
  static const store::request_error* error_in(const answer& got) {
    return *got ? std::get_if<store::request_error>(&**got) : nullptr;
  }

  test::virtual_time time_;
  std::deque<sent> in_flight_[5];
  std::vector<store::notification> notified_;
  coordinator coordinator_{
      time_,
      {5, silence, {"host0:6379", "host1:6379", "host2:6379", "host3:6379", "host4:6379"}},
      {[this](std::size_t to, tickets::request r, coordinator::on_reply done) {
         in_flight_[to].push_back({std::move(r), std::move(done)});
       },
       [this](std::function<void()> action) { time_.defer_callback(std::move(action)); },
       [this](const store::notification& n) { notified_.push_back(n); }}};
};

// ---- claims

TEST_F(quorum_coordinator, asks_for_the_clocks_before_its_first_claim) {
  const auto first = send(claim(true));
  ASSERT_EQ(addressees(task::acquire, ballot_step::claim), everywhere);
  EXPECT_EQ(first_at(0).token, fencing_token{}) << "that asks for the time alone";
  EXPECT_FALSE(first_at(0).wait);
  const auto second = send(claim(true, 2));
  EXPECT_EQ(in_flight_[0].size(), 1U) << "once for all";
  reply({0, 1}, of(refused("")));
  EXPECT_EQ(in_flight_[0].size(), 0U);
  reply(2, of(refused("")));
  for (std::size_t i : {0, 1, 2}) EXPECT_EQ(in_flight_[i].size(), 2U) << "both claims";
  EXPECT_GT(first_at(0).token, fencing_token{number});
  EXPECT_NE(in_flight_[0][0].request.token, in_flight_[0][1].request.token);
}

TEST_F(quorum_coordinator, that_does_not_learn_the_time_names_the_servers) {
  const auto got = send(claim(true));
  reply({0, 1}, of(refused("")));
  for (const std::size_t i : {2, 3}) reply(i, failed(i));
  EXPECT_FALSE(*got);
  time_.run_for(silence);
  ASSERT_NE(error_in(got), nullptr);
  EXPECT_EQ(error_in(got)->reason.code, errc::unavailable);
  EXPECT_TRUE(error_in(got)->retryable);
  EXPECT_FALSE(error_in(got)->maybe_executed) << "nothing was claimed";
  EXPECT_THAT(error_in(got)->reason.message,
              AllOf(HasSubstr("3 of 5 servers"), HasSubstr("host2:6379: server 2 is gone"),
                    HasSubstr("host3:6379: server 3 is gone"), HasSubstr("host4:6379 does not answer")));
}

TEST_F(quorum_coordinator, names_the_servers_that_do_not_answer_a_claim) {
  const auto got = begin(claim(true));
  reply({0, 1}, grant());
  time_.run_for(silence);
  ASSERT_NE(error_in(got), nullptr);
  for (const std::size_t i : {2, 3, 4}) {
    EXPECT_THAT(error_in(got)->reason.message,
                HasSubstr("host" + std::to_string(i) + ":6379 does not answer"));
  }
}

TEST_F(quorum_coordinator, waits_for_the_first_answers_as_long_as_connecting_may_take) {
  std::vector<coordinator::on_reply> under_way;
  coordinator newcomer{time_,
                       {5, silence, {}, 5s},
                       {[&](std::size_t, tickets::request, coordinator::on_reply done) {
                          under_way.push_back(std::move(done));
                        },
                        [this](std::function<void()> action) { time_.defer_callback(std::move(action)); },
                        [](const store::notification&) {}}};
  int answers = 0;
  time_.turn([&] { newcomer.send(claim(false), [&](const outcome&) { ++answers; }); });
  time_.turn([&] { newcomer.send(request(task::inspect), [&](const outcome&) { ++answers; }); });
  time_.run_for(4s);
  EXPECT_EQ(answers, 0);
  time_.run_for(2s);
  EXPECT_EQ(answers, 2);
}

TEST_F(quorum_coordinator, grants_by_the_first_majority) {
  const auto got = begin(claim(true));
  reply({1, 4}, grant());
  EXPECT_FALSE(*got);
  reply(2, grant());
  ASSERT_NE(in<tickets::place>(got), nullptr);
  EXPECT_TRUE(in<tickets::place>(got)->granted);
}

TEST_F(quorum_coordinator, refuses_permits) {
  auto r = claim(false);
  r.capacity = 2;
  r.weight = 1;
  const auto got = send(r);
  ASSERT_NE(error_in(got), nullptr);
  EXPECT_EQ(error_in(got)->reason.code, errc::invalid_argument);
  EXPECT_TRUE(addressees(task::acquire, ballot_step::claim).empty());
}

TEST_F(quorum_coordinator, leaves_nothing_of_a_try_that_was_refused) {
  const auto got = begin(claim(false));
  reply({0, 1}, grant());
  reply({2, 3, 4}, of(refused("a")));
  EXPECT_NE(in<tickets::refused>(got), nullptr);
  EXPECT_EQ(addressees(task::withdraw), everywhere);
  EXPECT_EQ(first_at(0).owner, claim(false).owner);
}

TEST_F(quorum_coordinator, knows_no_claim_that_was_not_made) {
  const auto got = send(request(task::find));
  EXPECT_NE(in<tickets::nothing>(got), nullptr);
}

TEST_F(quorum_coordinator, reports_the_grant_of_a_claim_that_waits) {
  const auto got = begin(claim(true));
  const outcome won = grant();
  reply(everywhere, of(queued()));
  ASSERT_NE(in<tickets::place>(got), nullptr);
  for (const std::size_t i : {0, 1, 2}) {
    EXPECT_TRUE(notified_.empty());
    time_.turn([&] {
      coordinator_.hear(i, {claim(true).owner, store::notification_kind::granted, fencing_token{number}});
    });
    reply(i, won);
  }
  ASSERT_EQ(notified_.size(), 1U);
  EXPECT_EQ(notified_[0].kind, store::notification_kind::granted);
  const auto known = send(request(task::look));
  ASSERT_NE(in<tickets::place>(known), nullptr);
  EXPECT_TRUE(in<tickets::place>(known)->granted);
}

TEST_F(quorum_coordinator, believes_no_notification_without_an_answer) {
  begin(claim(true));
  reply(everywhere, of(queued()));
  for (std::size_t i = 0; i < 5; ++i) {
    time_.turn([&] {
      coordinator_.hear(i, {claim(true).owner, store::notification_kind::granted, fencing_token{number}});
      coordinator_.hear(i, {claim(true, 7).owner, store::notification_kind::granted, fencing_token{number}});
    });
  }
  EXPECT_TRUE(notified_.empty());
  EXPECT_EQ(addressees(task::acquire, ballot_step::claim), everywhere);
}

TEST_F(quorum_coordinator, counts_no_vote_that_may_have_been_ended_by_force) {
  const auto got = begin(claim(true));
  const auto vote = grant();
  reply({0, 1}, vote);
  time_.turn([&] {
    coordinator_.hear(0, {claim(true).owner, store::notification_kind::revoked, fencing_token{number}});
  });
  reply(2, vote);
  ASSERT_NE(in<tickets::place>(got), nullptr);
  EXPECT_FALSE(in<tickets::place>(got)->granted);
  reply(0, vote);
  EXPECT_EQ(notified_.back().kind, store::notification_kind::granted);
}

// ---- renewals

TEST_F(quorum_coordinator, keeps_a_hold_that_a_majority_has_kept) {
  hold_at(everywhere);
  const auto got = send(renewal());
  reply(0, failed(0));
  reply({1, 2}, kept(true));
  EXPECT_FALSE(*got);
  reply(3, kept(true));
  ASSERT_NE(in<tickets::kept>(got), nullptr);
  EXPECT_EQ(in<tickets::kept>(got)->each, std::vector<bool>{true});
  EXPECT_TRUE(in<tickets::kept>(got)->unsure.empty());
}

TEST_F(quorum_coordinator, loses_a_hold_that_a_majority_can_not_have_any_more) {
  hold_at(everywhere);
  const auto got = send(renewal());
  reply({0, 1}, kept(false));
  EXPECT_FALSE(*got) << "three may have it";
  reply(2, kept(false));
  ASSERT_NE(in<tickets::kept>(got), nullptr);
  EXPECT_EQ(in<tickets::kept>(got)->each, std::vector<bool>{false});
  EXPECT_TRUE(in<tickets::kept>(got)->unsure.empty());
}

TEST_F(quorum_coordinator, does_not_take_a_hold_for_lost_that_too_few_servers_know_of) {
  hold_at(everywhere);
  const auto got = send(renewal());
  reply({0, 1}, kept(true));
  reply(2, kept(false));
  reply({3, 4}, unsure());
  ASSERT_NE(in<tickets::kept>(got), nullptr);
  EXPECT_EQ(in<tickets::kept>(got)->each, std::vector<bool>{false});
  EXPECT_EQ(in<tickets::kept>(got)->unsure, std::vector<std::size_t>{0});
}

TEST_F(quorum_coordinator, names_the_servers_without_which_a_hold_cannot_be_renewed) {
  hold_at(everywhere);
  const auto got = send(renewal());
  reply({0, 1}, kept(true));
  for (const std::size_t i : {2, 3, 4}) reply(i, failed(i));
  ASSERT_NE(error_in(got), nullptr);
  EXPECT_TRUE(error_in(got)->retryable);
  for (const std::size_t i : {2, 3, 4})
    EXPECT_THAT(error_in(got)->reason.message, HasSubstr("server " + std::to_string(i)));
}

TEST_F(quorum_coordinator, renews_without_servers_that_are_silent) {
  hold_at(everywhere);
  const auto few = send(renewal());
  reply({0, 1}, kept(true));
  time_.run_for(silence);
  ASSERT_TRUE(*few);
  if (const auto* k = in<tickets::kept>(few)) {
    EXPECT_EQ(k->unsure, std::vector<std::size_t>{0});
  } else {
    EXPECT_TRUE(error_in(few)->retryable);
  }
}

TEST_F(quorum_coordinator, claims_a_hold_at_servers_that_miss_it) {
  hold_at({0, 1, 2});
  reply({3, 4}, failed(3));
  const auto got = send(renewal());
  reply(3, kept(false));
  reply({0, 1, 2}, kept(true));
  ASSERT_TRUE(*got);
  EXPECT_EQ(addressees(task::acquire, ballot_step::claim), servers{3});
  EXPECT_EQ(first_at(3).owner, claim(true).owner);
  reply(4, kept(false));
  EXPECT_EQ(addressees(task::acquire, ballot_step::claim), (servers{3, 4})) << "its answer came later";
}

// Each server notifies the holder, and a renewal after the first of these comes before the others have ended
// it.
TEST_F(quorum_coordinator, claims_nothing_for_a_hold_that_is_being_ended_by_force) {
  hold_at(everywhere);
  time_.turn([&] {
    coordinator_.hear(0, {claim(true).owner, store::notification_kind::revoked, fencing_token{number}});
  });
  const auto got = send(renewal());
  reply(0, kept(false));
  reply({1, 2, 3, 4}, kept(true));
  ASSERT_TRUE(*got);
  EXPECT_EQ(addressees(task::acquire, ballot_step::claim), servers{});
}

TEST_F(quorum_coordinator, claims_nothing_for_a_hold_that_is_lost) {
  hold_at({0, 1, 2});
  reply({3, 4}, failed(3));
  send(renewal());
  reply({3, 4, 0}, kept(false));
  EXPECT_TRUE(addressees(task::acquire, ballot_step::claim).empty());
}

// ---- the ends of claims

TEST_F(quorum_coordinator, releases_by_the_first_majority) {
  hold_at(everywhere);
  const auto got = send(request(task::release));
  EXPECT_EQ(addressees(task::release), everywhere);
  reply({0, 1}, of(tickets::done{}));
  EXPECT_FALSE(*got);
  reply(2, of(tickets::nothing{}));
  EXPECT_NE(in<tickets::done>(got), nullptr);
}

TEST_F(quorum_coordinator, says_that_there_was_nothing_to_release) {
  hold_at(everywhere);
  const auto got = send(request(task::release));
  reply({0, 1, 2}, of(tickets::nothing{}));
  EXPECT_NE(in<tickets::nothing>(got), nullptr);
}

TEST_F(quorum_coordinator, repeats_a_release_until_it_is_confirmed) {
  hold_at(everywhere);
  send(request(task::release));
  reply({0, 1, 2, 4}, of(tickets::done{}));
  for (int i = 0; i < 3; ++i) {
    reply(3, failed(3));
    EXPECT_TRUE(addressees(task::release).empty()) << "not at once";
    time_.run_for(1s);
    EXPECT_EQ(addressees(task::release), servers{3});
    EXPECT_EQ(in_flight_[3].size(), 1U);
  }
  reply(3, of(tickets::done{}));
  time_.run_for(60s);
  EXPECT_TRUE(addressees(task::release).empty());
}

TEST_F(quorum_coordinator, repeats_a_release_no_longer_than_the_ttl) {
  hold_at(everywhere);
  send(request(task::release));
  reply({0, 1, 2, 4}, of(tickets::done{}));
  int tries = 0;
  for (; !addressees(task::release).empty(); ++tries) {
    reply(3, failed(3));
    time_.run_for(1s);
  }
  EXPECT_GT(tries, 20);
  EXPECT_LE(tries, 31);
  time_.run_for(60s);
  EXPECT_TRUE(addressees(task::release).empty());
}

TEST_F(quorum_coordinator, that_releases_and_hears_too_little_names_the_servers) {
  hold_at(everywhere);
  const auto got = send(request(task::release));
  reply({0, 1}, of(tickets::done{}));
  for (const std::size_t i : {2, 3}) reply(i, failed(i));
  time_.run_for(silence);
  ASSERT_NE(error_in(got), nullptr);
  for (const std::size_t i : {2, 3})
    EXPECT_THAT(error_in(got)->reason.message, HasSubstr("server " + std::to_string(i)));
}

TEST_F(quorum_coordinator, hears_nothing_of_a_claim_that_has_ended) {
  begin(claim(true));
  const outcome late = grant();
  send(request(task::withdraw));
  reply(everywhere, late);
  time_.run_for(60s);
  EXPECT_TRUE(notified_.empty());
  EXPECT_EQ(addressees(task::withdraw), everywhere);
  EXPECT_EQ(in_flight_[0].size(), 1U);
}

TEST_F(quorum_coordinator, lowers_a_hold_by_a_majority) {
  hold_at(everywhere);
  const auto got = send(request(task::downgrade));
  reply({0, 1}, of(tickets::done{}));
  EXPECT_FALSE(*got);
  reply(4, of(tickets::done{}));
  EXPECT_NE(in<tickets::done>(got), nullptr);
}

TEST_F(quorum_coordinator, that_stops_sends_nothing_more) {
  hold_at(everywhere);
  const auto got = send(request(task::release));
  coordinator_.stop();
  reply({0, 1, 2}, failed(0));
  time_.run_for(60s);
  EXPECT_FALSE(*got);
  EXPECT_EQ(addressees(task::release), (servers{3, 4}));
}

// ---- what everybody may ask

lock_state held_by(const owner_id& owner, std::uint64_t token) {
  lock_state s;
  s.holders.emplace_back();
  s.holders[0].owner = owner.hex();
  s.holders[0].token = fencing_token{token};
  return s;
}

TEST_F(quorum_coordinator, inspects_what_a_majority_says_and_does_not_wait_for_the_others) {
  const outcome held = of(std::optional{held_by(claim(true).owner, number)});
  const auto got = send(request(task::inspect));
  reply({0, 1, 2}, held);
  reply(3, failed(3));
  time_.run_for(silence);
  ASSERT_NE(in<std::optional<lock_state>>(got), nullptr);
  EXPECT_EQ((*in<std::optional<lock_state>>(got))->holders.size(), 1U);
  const auto few = send(request(task::inspect));
  reply({0, 1}, held);
  for (const std::size_t i : {2, 3}) reply(i, failed(i));
  time_.run_for(silence);
  ASSERT_NE(error_in(few), nullptr);
  EXPECT_THAT(error_in(few)->reason.message, HasSubstr("server 2"));
}

TEST_F(quorum_coordinator, waits_once_for_a_server_that_is_silent) {
  const outcome held = of(std::optional{held_by(claim(true).owner, number)});
  const auto first = send(request(task::inspect));
  reply({0, 1, 2, 3}, held);
  EXPECT_FALSE(*first);
  time_.run_for(silence);
  ASSERT_NE(in<std::optional<lock_state>>(first), nullptr);
  const auto& notes = (*in<std::optional<lock_state>>(first))->notes;
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].text, "does not answer");
  EXPECT_FALSE(notes[0].answers);
  const auto second = send(request(task::inspect));
  reply({0, 1, 2, 3}, held);
  EXPECT_TRUE(*second) << "it waits again";
  reply(4, held);
  const auto third = send(request(task::inspect));
  reply({0, 1, 2, 3}, held);
  EXPECT_FALSE(*third) << "the server has answered meanwhile";
}

TEST_F(quorum_coordinator, lists_as_long_as_parts_come) {
  const auto got = send(request(task::list));
  for (int part = 0; part < 10; ++part) {
    time_.run_for(silence / 2);
    reply(everywhere, of(tickets::more{nullptr, true}));
    ASSERT_FALSE(*got) << part;
  }
  reply(everywhere, of(std::vector<lock_summary>{}));
  EXPECT_NE(in<std::vector<lock_summary>>(got), nullptr);
}

TEST_F(quorum_coordinator, forces_the_end_of_holds_by_their_owners) {
  const outcome held = of(std::optional{held_by(claim(true).owner, number)});
  auto r = request(task::force_release);
  r.token = {};
  const auto got = send(r);
  reply(everywhere, held);
  ASSERT_EQ(addressees(task::force_release, ballot_step::end), everywhere);
  EXPECT_EQ(first_at(0).owner, claim(true).owner);
  reply({0, 1, 2}, of(tickets::count{1}));
  reply(3, of(tickets::count{0}));
  reply(4, failed(4));
  ASSERT_NE(in<tickets::count>(got), nullptr);
  EXPECT_EQ(in<tickets::count>(got)->value, 1U);
}

TEST_F(quorum_coordinator, forces_no_end_of_a_hold_with_another_token) {
  auto r = request(task::force_release);
  r.token = r.last = fencing_token{number - 1};
  const auto got = send(r);
  reply(everywhere, of(std::optional{held_by(claim(true).owner, number)}));
  ASSERT_NE(in<tickets::count>(got), nullptr);
  EXPECT_EQ(in<tickets::count>(got)->value, 0U);
}

TEST_F(quorum_coordinator, leaves_a_foreign_hold_alone) {
  lock_state foreign = held_by({}, 0);
  foreign.holders[0].owner = "plain text";
  auto r = request(task::force_release);
  r.token = {};
  const auto got = send(r);
  reply(everywhere, of(std::optional{foreign}));
  ASSERT_NE(error_in(got), nullptr);
  EXPECT_EQ(error_in(got)->reason.code, errc::wrong_type);
}

}  // namespace
}  // namespace holdfast::quorum
