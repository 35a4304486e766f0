// SPDX-License-Identifier: Apache-2.0
// A claim on several servers, step by step: what it sends, and when it holds.

#include "unit/quorum_contender.hpp"

#include <gmock/gmock.h>
#include <memory>
#include <string>

namespace holdfast::quorum {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

using servers = std::set<std::size_t>;

TEST_F(quorum_contender, holds_by_the_first_majority_in_one_round) {
  const auto begin = now_;
  EXPECT_FALSE(ask().answer);
  EXPECT_EQ(addressees(task::vote).size(), 5U);
  now_ += 1ms;
  EXPECT_FALSE(hear({4, 0}, granted()).answer);
  const auto won = hear(2, granted());
  ASSERT_TRUE(is_grant(won));
  EXPECT_TRUE(won.send.empty());
  EXPECT_EQ(answer_in<tickets::place>(won)->token, fencing_token{number});
  EXPECT_EQ(answer_in<tickets::place>(won)->counts_from, begin);
  EXPECT_TRUE(claim_.holds());
}

// ---- tokens

TEST_F(quorum_contender, proposes_anew_a_token_that_less_than_a_majority_has_accepted) {
  ask();
  hear(0, granted());
  hear(1, granted(0, number + 7));
  EXPECT_FALSE(is_won(hear(2, granted(0, number + 3))));
  EXPECT_EQ(addressees(task::accept), (servers{0, 1, 2}));
  const auto proposed = form_of(sent(0)).token;
  EXPECT_EQ(proposed, fencing_token{number + 8})
      << "no more than needed: others wait with numbers above that";
  EXPECT_EQ(form_of(sent(1)).token, proposed);
  EXPECT_FALSE(is_won(hear({0, 1}, granted(proposed.value(), proposed.value()))));
  EXPECT_TRUE(is_won(hear(2, granted(proposed.value(), proposed.value()))));
  const auto won = ask();
  ASSERT_TRUE(is_grant(won));
  EXPECT_EQ(answer_in<tickets::place>(won)->token, proposed);
}

/// A claim that two servers have accepted; the third one refuses its number, and a proposal is on its way.
class quorum_proposal : public quorum_contender {
 protected:
  quorum_proposal() {
    ask();
    hear({0, 1}, granted());
    hear(2, granted(0, number + 3));
    proposed_ = form_of(sent(0)).token.value();
    hear({0, 1}, granted(proposed_, proposed_));
  }
  std::uint64_t proposed_ = 0;
};

TEST_F(quorum_proposal, is_not_repeated_where_it_was_refused) {
  hear(2, granted(0, number + 3));  // its clock is behind
  EXPECT_TRUE(addressees(task::accept).empty());
}

TEST_F(quorum_proposal, is_not_repeated_at_once_where_it_has_failed) {
  hear(2, failed(2));
  EXPECT_TRUE(addressees(task::accept).empty()) << "it would fail as soon, and so on";
}

TEST_F(quorum_proposal, is_made_again_without_a_server_that_is_silent) {
  hear(3, granted(0, proposed_ + 3));  // server 2 does not answer
  wake_after(silence);
  ASSERT_EQ(addressees(task::accept), (servers{0, 1, 2, 3}));
  const auto again = form_of(sent(0)).token.value();
  EXPECT_GT(again, proposed_ + 3);
  EXPECT_TRUE(is_won(hear({0, 1, 3}, granted(again, again))));
}

constexpr std::uint64_t mad = votes::number + 3'600'000'000;

TEST_F(quorum_contender, does_not_propose_what_the_others_cannot_accept_because_one_clock_is_far_ahead) {
  ask();
  hear(0, granted(0, mad));
  EXPECT_FALSE(is_won(hear({1, 2}, granted())));
  EXPECT_TRUE(addressees(task::accept).empty());
  EXPECT_TRUE(is_won(hear(3, granted())));
  const auto won = ask();
  ASSERT_TRUE(is_grant(won));
  EXPECT_EQ(answer_in<tickets::place>(won)->token, fencing_token{number});
}

TEST_F(quorum_contender, proposes_below_a_fence_that_is_far_ahead_if_a_majority_can_accept_that) {
  ask();
  hear(0, granted(0, mad));
  hear(1, granted(0, number + 5));
  hear({2, 3}, granted());
  ASSERT_FALSE(claim_.holds());
  ASSERT_EQ(addressees(task::accept), (servers{1, 2, 3}));
  const auto proposed = form_of(sent(1)).token.value();
  EXPECT_GT(proposed, number + 5);
  EXPECT_LT(proposed, mad);
  EXPECT_TRUE(is_won(hear({1, 2, 3}, granted(proposed, proposed))));
}

TEST_F(quorum_contender, proposes_above_the_fences_of_servers_whose_clocks_were_set_back) {
  ask();
  hear({0, 2}, granted(0, mad));
  hear(1, granted(0, mad + 5));
  ASSERT_EQ(addressees(task::accept), (servers{0, 1, 2}));
  const auto proposed = form_of(sent(0)).token.value();
  EXPECT_GT(proposed, mad + 5);
  EXPECT_TRUE(is_won(hear({0, 1, 2}, granted(proposed, proposed))));
}

// ---- yields

/// A claim that server 0 has granted, where another one goes first.
class quorum_yield : public quorum_contender {
 protected:
  explicit quorum_yield(std::size_t servers = 5, bool wait = true) : quorum_contender{servers, wait} {
    ask();
    hear(0, overtaken(41));
  }
  void expect_yield() const {
    ASSERT_EQ(addressees(task::yield), servers{0});
    EXPECT_EQ(form_of(sent(0)).grant, 41U);
  }
};

TEST_F(quorum_contender, with_a_majority_gives_nothing_back) {
  ask();
  hear({0, 1}, granted());
  EXPECT_TRUE(is_grant(hear(2, overtaken(41))));
  hear(3, overtaken(42));
  EXPECT_TRUE(addressees(task::yield).empty());
}

TEST_F(quorum_yield, counts_nothing_of_a_server_that_took_the_grant_back) {
  hear({1, 2}, granted());
  EXPECT_FALSE(is_won(hear(0, queued())));
  EXPECT_FALSE(claim_.holds());
}

TEST_F(quorum_yield, is_sent_again_with_the_same_number) {
  ASSERT_TRUE(hear(0, failed(0)).wake_at);
  EXPECT_TRUE(addressees(task::yield).empty());
  EXPECT_FALSE(is_won(hear({1, 2}, granted())));
  wake_after(1s);
  expect_yield();
}

TEST_F(quorum_yield, is_sent_again_before_the_claim) {
  hear(0, failed(0));
  hint(0);
  expect_yield();
}

TEST_F(quorum_yield, is_sent_again_if_the_claim_may_have_been_ended_by_force) {
  hear(0, failed(0));
  store::notification end;
  end.kind = store::notification_kind::revoked;
  notify(0, end);
  expect_yield();
}

TEST_F(quorum_yield, claims_again_at_a_server_that_has_lost_the_claim) {
  hear(0, tickets::nothing{});
  EXPECT_EQ(addressees(task::vote).count(0), 1U);
}

// ---- waiting

TEST_F(quorum_contender, asks_again_after_an_answer_that_may_be_older_than_a_notification) {
  ask();
  hint(0);  // while the answer is under way
  hear(0, queued());
  EXPECT_EQ(addressees(task::vote).count(0), 1U);
  hear(0, granted());
  EXPECT_EQ(addressees(task::vote).count(0), 0U);
}

TEST_F(quorum_contender, that_waits_says_so_when_a_majority_has_answered) {
  ask();
  EXPECT_FALSE(hear({0, 1}, queued()).answer);
  const auto waiting = hear(2, queued());
  ASSERT_NE(answer_in<tickets::place>(waiting), nullptr);
  EXPECT_FALSE(is_grant(waiting));
  EXPECT_FALSE(waiting.is_over);
}

TEST_F(quorum_contender, that_waits_reports_its_grant_once) {
  ask();
  hear({0, 1, 2, 3, 4}, queued());
  int reports = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    hint(i);
    reports += hear(i, granted()).is_won ? 1 : 0;
  }
  EXPECT_EQ(reports, 1);
  const auto again = ask();
  EXPECT_TRUE(is_grant(again)) << "it is known";
  EXPECT_TRUE(again.send.empty());
}

// ---- grants with a proof

/// A claim that waits at all servers. Servers 1 and 2 grant it. Server I would prove a grant by secret 100 +
/// I.
class quorum_proof : public quorum_contender {
 protected:
  quorum_proof() {
    claim_.prove_by({100, 101, 102, 103, 104});
    ask();
    EXPECT_EQ(secret_to(3), 103U);
    hear({0, 1, 2, 3, 4}, queued());
    notify(1, proven(101));
    notify(2, proven(102));
    EXPECT_TRUE(in_flight_.empty()) << "they are votes, not hints";
  }
  [[nodiscard]] std::uint64_t secret_to(std::size_t server) const {
    return std::get<ballots::vote>(sent(server)).proof;
  }
  /// It was a hint, and the server is asked, without the secret if that was told.
  void expect_question(const contender::step& s, std::uint64_t secret) {
    EXPECT_FALSE(is_won(s));
    ASSERT_EQ(addressees(task::vote), servers{0});
    EXPECT_EQ(secret_to(0), secret);
  }
};

TEST_F(quorum_proof, makes_a_majority_without_a_question) {
  now_ += 1s;
  const auto won = notify(0, proven(100));
  EXPECT_TRUE(is_won(won));
  EXPECT_TRUE(won.send.empty());
  const auto place = ask();
  ASSERT_TRUE(is_grant(place));
  EXPECT_EQ(answer_in<tickets::place>(place)->token, fencing_token{number});
  EXPECT_EQ(answer_in<tickets::place>(place)->counts_from, now_ - 1s) << "the last answered request";
}

TEST_F(quorum_proof, of_a_grant_that_accepts_no_token_leads_to_a_proposal) {
  auto n = proven(100);
  n.accepted = fencing_token{};
  n.fence = fencing_token{number + 3};
  EXPECT_FALSE(is_won(notify(0, n)));
  EXPECT_EQ(addressees(task::accept), (servers{0, 1, 2}));
  EXPECT_GT(form_of(sent(0)).token, fencing_token{number + 3});
}

TEST_F(quorum_proof, is_that_of_the_server) { expect_question(notify(0, proven(101)), 100); }

TEST_F(quorum_proof, names_the_number_of_the_claim) {
  auto n = proven(100);
  n.token = fencing_token{number - 1};
  expect_question(notify(0, n), 0);
}

TEST_F(quorum_proof, comes_on_the_connection_of_the_last_answer) {
  auto n = proven(100);
  n.position.connection = 2;
  expect_question(notify(0, n), 0);
}

TEST_F(quorum_proof, comes_within_half_of_the_ttl) {
  now_ += 15s;
  expect_question(notify(0, proven(100)), 0);
}

TEST_F(quorum_proof, proves_nothing_while_an_answer_is_under_way) {
  hint(0);
  expect_question(notify(0, proven(100)), 100);
  hear(0, queued());  // the grant has ended
  EXPECT_EQ(secret_to(0), 0U) << "somebody may repeat the notification";
  hear(0, queued());
  expect_question(notify(0, proven(100)), 0);
}

TEST_F(quorum_proof, comes_behind_the_last_answer) {
  auto n = proven(100);
  n.position.message = 1;
  expect_question(notify(0, n), 0);
}

TEST_F(quorum_proof, has_the_whole_vote) {
  auto n = proven(100);
  n.grant = 0;
  expect_question(notify(0, n), 0);
}

TEST_F(quorum_proof, is_used_up_by_a_grant) {
  hint(1);
  hear(1, queued());
  hint(0);
  hear(0, overtaken(41));
  EXPECT_FALSE(claim_.holds());
  ASSERT_EQ(addressees(task::yield), servers{0});
  hear(0, queued());
  expect_question(notify(0, proven(100)), 0);
}

TEST_F(quorum_proof, is_over_with_its_connection) {
  hint(0);
  hear(0, queued("another", 2));
  auto n = proven(100);
  n.position.connection = 2;
  expect_question(notify(0, n), 0);
}

TEST_F(quorum_proof, is_over_with_a_request_that_was_not_answered) {
  hint(0);
  hear(0, failed(0));
  hint(0);
  hear(0, queued());
  expect_question(notify(0, proven(100)), 0);
}

tickets::place waits(bool is_head, bool is_silent) {
  auto at = votes::queued();
  at.head = is_head;
  at.silent = is_silent;
  return at;
}

// A foreign holder notifies nobody. The caller would look again only after a third of the ttl.
TEST_F(quorum_contender, says_that_it_is_first_behind_a_foreign_holder_when_that_is_learnt_after_the_answer) {
  ask();
  EXPECT_TRUE(hear({0, 1, 2}, waits(false, false)).answer);
  EXPECT_FALSE(hear(3, waits(false, false)).should_look);
  const auto late = hear(4, waits(true, false));
  EXPECT_FALSE(late.should_look) << "so soon after the answer";
  ASSERT_TRUE(late.wake_at);
  EXPECT_TRUE(wake_after(*late.wake_at - now_).should_look);
  EXPECT_FALSE(wake_after(0s).should_look) << "once";
}

TEST_F(quorum_contender, says_that_a_majority_is_foreign_when_a_hint_has_shown_it) {
  ask();
  EXPECT_FALSE(hear({0, 1, 2, 3, 4}, waits(true, false)).should_look);
  now_ += 1s;
  for (const std::size_t server : {0, 1, 2}) {
    EXPECT_EQ(hint(server).send.size(), 1U);
    EXPECT_EQ(hear(server, waits(true, true)).should_look, server == 2);
  }
}

// A server whose clock is far behind grants, and accepts no token.
TEST_F(quorum_contender, does_not_rely_on_a_majority_that_accepts_no_token) {
  auto behind = granted(0, 0);
  behind.vote->clock = {};
  ask();
  EXPECT_TRUE(hear({1, 2}, behind).send.empty());
  hear(3, queued());
  hear(0, overtaken(1));
  EXPECT_EQ(addressees(task::yield), servers{0});
}

// ---- servers that do not answer

TEST_F(quorum_contender, that_too_few_servers_answer_names_them) {
  ask();
  hear(0, granted());
  hear(1, failed(1));
  EXPECT_FALSE(hear(2, failed(2)).answer) << "a majority may answer yet";
  const auto given_up = hear(3, failed(3));
  ASSERT_NE(error_in(given_up), nullptr);
  EXPECT_TRUE(error_in(given_up)->retryable);
  EXPECT_TRUE(error_in(given_up)->maybe_executed);
  EXPECT_EQ(error_in(given_up)->reason.code, errc::unavailable);
  for (const std::size_t server : {1, 2, 3})
    EXPECT_THAT(text_in(given_up), HasSubstr("server " + std::to_string(server)));
}

TEST_F(quorum_contender, is_not_tried_again_where_a_majority_refuses_for_good) {
  ask();
  EXPECT_FALSE(hear({0, 1}, failed(0, false)).answer);
  const auto refused_for_good = hear(2, failed(2, false));
  ASSERT_NE(error_in(refused_for_good), nullptr);
  EXPECT_FALSE(error_in(refused_for_good)->retryable);
  EXPECT_EQ(error_in(refused_for_good)->reason.code, errc::wrong_type);
  EXPECT_FALSE(error_in(refused_for_good)->maybe_executed) << "a majority has not carried it out";
  EXPECT_TRUE(refused_for_good.is_over) << "a minority may have it";
}

TEST_F(quorum_contender, is_tried_again_where_only_a_minority_refuses_for_good) {
  ask();
  hear({0, 1}, failed(0, false));
  const auto both = hear(2, failed(2));
  ASSERT_NE(error_in(both), nullptr);
  EXPECT_TRUE(error_in(both)->retryable);
  EXPECT_EQ(error_in(both)->reason.code, errc::unavailable);
}

TEST_F(quorum_contender, waits_for_silent_servers_no_longer_than_the_limit) {
  const auto begun = ask();
  ASSERT_TRUE(begun.wake_at);
  EXPECT_EQ(*begun.wake_at, now_ + silence);
  hear({0, 1}, granted());
  EXPECT_FALSE(wake_after(silence / 2).answer);
  const auto late = wake_after(silence / 2);
  ASSERT_NE(error_in(late), nullptr);
  EXPECT_TRUE(error_in(late)->maybe_executed);
  EXPECT_EQ(in_flight_.size(), 3U) << "a request to a silent server is not repeated";
}

// ---- holding

TEST_F(quorum_contender, that_holds_is_claimed_in_the_queue_of_a_server_that_lacks_it) {
  hold();
  hear({3, 4}, failed(3));
  take(claim_.claim_at_missing(now_, 3));
  ASSERT_EQ(addressees(task::vote), servers{3});
  EXPECT_TRUE(form_of(sent(3)).wait);
  EXPECT_EQ(form_of(sent(3)).weight, store::full_capacity);
  claim_.lower();
  take(claim_.claim_at_missing(now_, 4));
  EXPECT_EQ(form_of(sent(4)).weight, 1) << "it is a reader";
}

/// A claim with metadata. A server that has granted it late, or lost its hold and got it back, may accept the
/// token no more. Whoever looks would find several numbers, or none.
class quorum_told_token : public quorum_contender {
 protected:
  void hold_with(const char* metadata) {
    claim_.annotate(std::make_shared<const std::string>(metadata));
    hold();
  }
  /// Whether the token is written there now.
  bool tells(std::size_t server) {
    take(claim_.tell_token(now_, server));
    return addressees(task::annotate).count(server) != 0;
  }
};

TEST_F(quorum_told_token, is_written_at_servers_that_have_another_number) {
  hold_with(R"({"host":"web-1"})");
  hear(4, granted(number - 3, number - 3));
  hear(3, granted(0, number));
  for (const std::size_t server : {3, 4}) {
    ASSERT_EQ(in_flight_.count(server), 1U) << server;
    EXPECT_EQ(task_of(sent(server)), task::annotate);
    EXPECT_EQ(*form_of(sent(server)).metadata, R"({"token":5000000,"host":"web-1"})");
  }
  for (const std::size_t server : {0, 1, 2}) EXPECT_FALSE(tells(server)) << "it has accepted the token";
  hear(3, tickets::done{});
  EXPECT_FALSE(tells(3)) << "it was told";
  EXPECT_TRUE(hear(4, failed(4)).send.empty()) << "the next renewal is early enough";
  EXPECT_TRUE(tells(4));
}

TEST_F(quorum_told_token, is_written_again_where_the_hold_has_begun_anew) {
  hold_with("{}");
  hear(3, granted(0, number, 1));
  hear(3, tickets::done{});
  take(claim_.claim_at_missing(now_, 3));
  EXPECT_EQ(*form_of(sent(3)).metadata, R"({"token":5000000})");
  hear(3, granted(0, number, 2));
  EXPECT_EQ(addressees(task::annotate), servers{3});
  hear(3, tickets::nothing{});
  EXPECT_EQ(in_flight_.count(3), 0U) << "the next renewal claims it";
}

// It may have lost its last writes, and number the grant as before.
TEST_F(quorum_told_token, is_written_again_at_a_server_that_has_restarted) {
  hold_with("{}");
  hear(3, granted(0, number, 1));
  hear(3, tickets::done{});
  for (const std::size_t server : {0, 3}) {
    ASSERT_FALSE(tells(server));
    claim_.restarted(server);
    ASSERT_TRUE(tells(server));
    hear(server, tickets::done{});
    EXPECT_FALSE(tells(server)) << "it was told";
  }
}

TEST_F(quorum_told_token, is_written_as_a_reader) {
  hold_with("{}");
  claim_.lower();
  hear(3, granted(0, number));
  ASSERT_EQ(addressees(task::annotate), servers{3});
  EXPECT_EQ(*form_of(sent(3)).metadata, R"({"token":5000000})");
}

}  // namespace
}  // namespace holdfast::quorum
