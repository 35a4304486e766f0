// The lease manager: from a wish to a lease, and from a lease to its end.

#include "lease/lease_manager.hpp"

#include <gtest/gtest.h>
#include <set>

#include "core/rig.hpp"

namespace holdfast {
namespace {

using namespace test;
using lease_core::not_had;
using lease_core::record_ptr;
using lease_core::taken;
using phase = lease_core::record::phase;
using tickets::task;

class managed_leases : public testing::Test {
 protected:
  static lease_core::wish a_wish(std::uint8_t owner = 1) { return {a_claim(owner), margin, true}; }

  lease_core::lease_manager::claim_id ask(const lease_core::wish& what = a_wish(),
                                          std::optional<store::time_point> limit = {}) {
    lease_core::lease_manager::claim_id id = 0;
    it.time.turn([&] {
      id = all.acquire(what, limit, [this](taken t) {
        ended_at = it.time.now();
        ends.push_back(std::move(t));
      });
    });
    return id;
  }
  /// Asks, and is granted at once.
  record_ptr hold(const lease_core::wish& what = a_wish(), std::uint64_t token = 7) {
    ask(what);
    it.answer(granted_at(token), it.link.open() - 1);
    return std::get<record_ptr>(ends.back());
  }
  void release(const record_ptr& lease) {
    it.time.turn([&] { all.release(lease, [this](std::error_code ec) { released.push_back(ec); }); });
  }
  [[nodiscard]] std::error_code failure_at_end() const {
    const auto* failed = ends.empty() ? nullptr : std::get_if<failure>(&ends.back());
    return failed == nullptr ? std::error_code{} : failed->code;
  }
  [[nodiscard]] bool not_had_at_end() const {
    return !ends.empty() && std::holds_alternative<not_had>(ends.back());
  }

  rig it;
  std::vector<record_ptr> losses;
  tasks before_telling;
  std::vector<taken> ends;
  store::time_point ended_at;
  std::vector<std::error_code> released;
  lease_core::lease_manager all{it.time, it.port, [this](const record_ptr& lease) {
                                  EXPECT_EQ(lease->state(), phase::lost);
                                  EXPECT_TRUE(lease->reason) << "it has its reason by then";
                                  losses.push_back(lease);
                                  if (lease->reason == errc::closed) return;  // closing gives back by itself
                                  it.time.defer_callback([this, lease] {
                                    EXPECT_EQ(it.asked(), before_telling)
                                        << "given back before its user was told";
                                    all.after_loss(lease);
                                  });
                                  before_telling = it.asked();
                                }};
};

TEST_F(managed_leases, makes_a_lease_of_a_grant) {
  ask();
  it.time.run_for(40ms);
  it.answer(granted_at(7));
  ASSERT_EQ(ends.size(), 1U);
  const record_ptr lease = std::get<record_ptr>(ends[0]);
  EXPECT_EQ(lease->hold.name, "stock");
  EXPECT_EQ(lease->hold.owner, id(1));
  EXPECT_EQ(lease->hold.token, fencing_token{7});
  EXPECT_EQ(lease->hold.ttl, 30s);
  EXPECT_EQ(lease->how(), mode::exclusive);
  EXPECT_EQ(lease->deadline(), epoch + 30s - margin);
  EXPECT_TRUE(lease->held_at(it.time.now()));
  it.time.run_until(epoch + 10s);
  EXPECT_EQ(it.asked(), tasks{task::renew});
}

TEST_F(managed_leases, says_not_had_or_what_failed) {
  ask();
  it.answer(tickets::refused{});
  EXPECT_TRUE(not_had_at_end());
  ask();
  it.answer(tickets::other_capacity{4});
  EXPECT_EQ(failure_at_end(), errc::wrong_type);
  ask();
  it.answer(lasting);
  EXPECT_EQ(failure_at_end(), errc::unavailable);
  EXPECT_EQ(ends.size(), 3U);
  EXPECT_EQ(it.port.busy(), 0U);
}

TEST_F(managed_leases, waits_no_longer_than_its_limit) {
  ask(a_wish(), epoch + 2s);
  it.answer(waiting_at(7));
  it.time.run_until(epoch + 2s - 1ns);
  EXPECT_TRUE(ends.empty());
  it.time.run_for(1ns);
  EXPECT_TRUE(not_had_at_end());
  EXPECT_EQ(it.asked(), tasks{task::withdraw}) << "the ticket does not stay";
  it.tell(1, word_of_grant(7));
  it.answer(tickets::done{});
  EXPECT_EQ(ends.size(), 1U);
  EXPECT_EQ(it.port.busy(), 0U);
}

TEST_F(managed_leases, does_not_wait_for_a_silent_store_longer_than_its_limit) {
  ask(a_wish(), epoch + 2s);
  it.time.run_for(1h);
  EXPECT_TRUE(not_had_at_end());
  EXPECT_EQ(ended_at, epoch + 2s);
  // The answer comes in the end, and it is a grant: nobody is there to have it.
  it.answer(granted_at(7));
  EXPECT_EQ(it.asked(), tasks{task::withdraw});
  EXPECT_EQ(ends.size(), 1U);
  it.answer(tickets::done{});
  EXPECT_EQ(it.port.busy(), 0U);
}

TEST_F(managed_leases, does_not_say_not_had_where_the_store_could_not_be_asked) {
  ask(a_wish(), epoch + 2s);
  it.answer(passing);  // nobody knows whether it is free
  it.time.run_until(epoch + 2s);
  EXPECT_EQ(failure_at_end(), errc::unavailable);
}

TEST_F(managed_leases, says_not_had_where_the_store_could_be_asked_in_the_end) {
  ask(a_wish(), epoch + 2s);
  it.answer(passing);
  it.time.run_for(1s);
  it.answer(waiting_at(7));  // by now somebody does
  it.time.run_for(1s);
  EXPECT_TRUE(not_had_at_end());
}

TEST_F(managed_leases, forgets_the_limit_of_what_is_had) {
  ask(a_wish(), epoch + 2s);
  it.answer(waiting_at(7));
  it.time.run_for(1s);
  it.tell(1, word_of_grant(7));
  it.answer(granted_at(7));
  ASSERT_TRUE(std::holds_alternative<record_ptr>(ends.back()));
  it.time.run_for(2s);
  EXPECT_EQ(ends.size(), 1U);
  EXPECT_EQ(it.link.open(), 0U);
}

TEST_F(managed_leases, cancels) {
  const auto which = ask();
  it.answer(waiting_at(7));
  all.cancel(which);
  EXPECT_EQ(failure_at_end(), errc::cancelled);
  EXPECT_EQ(it.asked(), tasks{task::withdraw});
  all.cancel(which);
  all.cancel(which + 1);
  EXPECT_EQ(ends.size(), 1U);
  EXPECT_EQ(it.link.open(), 1U);
}

TEST_F(managed_leases, withdraws_in_the_background_until_it_is_confirmed) {
  const auto which = ask();
  it.answer(waiting_at(7));
  all.cancel(which);
  for (int i = 0; i < 10; ++i) {
    it.answer(passing_unknown);
    it.time.run_for(1s);
    ASSERT_EQ(it.asked(), tasks{task::withdraw});
  }
  bool idle = false;
  it.port.when_idle([&] { idle = true; });
  EXPECT_FALSE(idle);
  it.answer(tickets::nothing{});
  EXPECT_TRUE(idle);
}

TEST_F(managed_leases, does_not_cancel_what_is_had) {
  const auto which = ask();
  it.answer(granted_at(7));
  all.cancel(which);
  EXPECT_EQ(ends.size(), 1U);
  EXPECT_EQ(std::get<record_ptr>(ends[0])->state(), phase::held);
  EXPECT_EQ(it.link.open(), 0U);
}

TEST_F(managed_leases, gives_back_a_grant_that_came_too_late_and_queues_again_but_not_for_ever) {
  auto patient = a_wish();
  patient.claim.retry.limit(60s);
  ask(patient);
  owner_id last;
  for (int late = 1; late <= 3; ++late) {
    EXPECT_NE(it.link.asked().owner, last) << "a claim of its own each time";
    last = it.link.asked().owner;
    it.answer(waiting_at(static_cast<std::uint64_t>(late)));
    it.tell_owner(last, word_of_grant(static_cast<std::uint64_t>(late)));
    ASSERT_EQ(it.asked().back(), task::look);
    it.time.run_for(30s - margin);
    it.answer(granted_at(static_cast<std::uint64_t>(late)));
    ASSERT_EQ(it.asked(), late < 3 ? (tasks{task::release, task::acquire}) : tasks{task::release});
    EXPECT_EQ(it.link.asked().token, fencing_token{static_cast<std::uint64_t>(late)});
    it.answer(tickets::done{});
  }
  EXPECT_EQ(failure_at_end(), errc::lost);
  EXPECT_EQ(it.port.busy(), 0U);
  EXPECT_TRUE(losses.empty()) << "nobody ever had it";
}

// Of a session whose life is in doubt.

class doubted : public managed_leases {
 protected:
  /// Granted after a stall: the session was last known to live until a moment ago.
  void be_granted_in_doubt(const lease_core::wish& what = a_wish(),
                           std::optional<store::time_point> limit = {}) {
    it.link.session = epoch + 1s;
    ask(what, limit);
    it.time.run_for(2s);
    it.answer(granted_at(7));
  }
  void prove_session() {
    it.link.session = it.time.now() + 10s;
    it.time.run_for(2s);
  }
};

TEST_F(doubted, waits_for_the_proof_and_keeps_what_was_granted) {
  be_granted_in_doubt();
  it.time.run_for(2s);
  EXPECT_TRUE(ends.empty()) << "the session may well live";
  EXPECT_EQ(it.link.open(), 0U) << "nothing is given back, nothing is asked";
  prove_session();
  ASSERT_EQ(it.asked(), tasks{task::renew}) << "it may have been a former session's";
  const auto asked = it.time.now();
  it.answer(tickets::kept{{true}});
  ASSERT_EQ(ends.size(), 1U);
  const record_ptr lease = std::get<record_ptr>(ends[0]);
  EXPECT_TRUE(lease->held_at(it.time.now()));
  EXPECT_LE(lease->deadline(), asked + 10s);
}

TEST_F(doubted, asks_anew_for_what_has_gone_with_a_former_session) {
  be_granted_in_doubt();
  prove_session();
  it.answer(tickets::kept{{false}});
  EXPECT_TRUE(ends.empty());
  ASSERT_EQ(it.asked(), (tasks{task::release, task::acquire}));
  it.answer(granted_at(9), 1);
  EXPECT_EQ(std::get<record_ptr>(ends.at(0))->hold.token, fencing_token{9});
}

TEST_F(doubted, gives_up_and_gives_back_when_no_proof_comes) {
  auto brief = a_wish();
  brief.claim.retry.limit(3s);
  be_granted_in_doubt(brief);
  it.time.run_for(5s);
  EXPECT_EQ(failure_at_end(), errc::unavailable);
  EXPECT_EQ(it.asked(), tasks{task::release});
}

TEST_F(doubted, waits_no_longer_than_its_limit) {
  be_granted_in_doubt(a_wish(), epoch + 4s);
  it.time.run_for(5s);
  EXPECT_EQ(ended_at, epoch + 4s);
  EXPECT_EQ(failure_at_end(), errc::unavailable) << "nobody else is known to hold it";
  EXPECT_EQ(it.asked(), tasks{task::release});
}

TEST_F(doubted, gives_back_what_is_cancelled) {
  it.link.session = epoch + 1s;
  const auto which = ask();
  it.time.run_for(2s);
  it.answer(granted_at(7));
  it.time.turn([&] { all.cancel(which); });
  EXPECT_EQ(failure_at_end(), errc::cancelled);
  EXPECT_EQ(it.asked(), tasks{task::release});
  it.time.run_for(5s);
  EXPECT_EQ(ends.size(), 1U);
}

// The end of a lease.

TEST_F(managed_leases, releases) {
  const record_ptr lease = hold();
  release(lease);
  EXPECT_EQ(lease->state(), phase::releasing);
  EXPECT_FALSE(lease->held_at(it.time.now())) << "not for an instant longer";
  ASSERT_EQ(it.asked(), tasks{task::release});
  EXPECT_EQ(it.link.asked().name, "stock");
  EXPECT_EQ(it.link.asked().owner, id(1));
  EXPECT_EQ(it.link.asked().token, fencing_token{7});
  EXPECT_TRUE(released.empty());
  it.answer(tickets::done{});
  EXPECT_EQ(released, std::vector{std::error_code{}});
  it.time.run_for(1h);
  EXPECT_EQ(it.link.open(), 0U) << "nothing is kept after its release";
  EXPECT_TRUE(losses.empty()) << "a release is no loss";
}

TEST_F(managed_leases, reports_what_became_of_a_release) {
  release(hold());
  it.answer(tickets::nothing{});
  EXPECT_EQ(released.back(), errc::lost);

  release(hold());
  it.answer(passing_unknown);
  it.time.run_for(5ms);
  it.answer(tickets::nothing{});
  EXPECT_EQ(released.back(), std::error_code{}) << "gone, by the try that was not answered";

  release(hold());
  it.answer(passing);
  it.time.run_for(5ms);
  it.answer(tickets::nothing{});
  EXPECT_EQ(released.back(), errc::lost) << "gone, and not by us";
}

TEST_F(managed_leases, tries_to_release_until_the_ttl_has_surely_ended_the_hold) {
  const record_ptr lease = hold();
  it.time.run_for(3s);
  release(lease);
  while (released.empty()) {
    ASSERT_EQ(it.asked(), tasks{task::release});
    it.answer(passing_unknown);
    while (released.empty() && it.link.open() == 0) it.time.run_until(it.time.next_timer());
  }
  EXPECT_EQ(released.back(), errc::unknown_outcome);
  EXPECT_LE(it.time.now(), lease->deadline() + 30s);
  EXPECT_GT(it.time.now(), lease->deadline() + 29s - 1ms);
}

TEST_F(managed_leases, releases_once) {
  const record_ptr lease = hold();
  release(lease);
  release(lease);
  EXPECT_EQ(released, std::vector{make_error_code(errc::not_owner)});
  EXPECT_EQ(it.link.open(), 1U);
}

TEST_F(managed_leases, does_not_release_what_was_lost) {
  const record_ptr lease = hold();
  it.time.run_until(lease->deadline());
  ASSERT_EQ(losses.size(), 1U);
  release(lease);
  EXPECT_EQ(released, std::vector{make_error_code(errc::lost)});
}

TEST_F(managed_leases, declares_a_loss_to_those_who_come_before_the_timer) {
  const record_ptr lease = hold();
  it.time.stop_for(30s);
  release(lease);
  EXPECT_EQ(released, std::vector{make_error_code(errc::lost)});
  ASSERT_EQ(losses.size(), 1U);
  EXPECT_EQ(lease->reason, errc::lost);
  EXPECT_EQ(lease->loss, loss_reason::not_renewed);
  it.time.run_for(0s);
  EXPECT_EQ(losses.size(), 1U);
}

TEST_F(managed_leases, checks_by_the_clock) {
  const record_ptr lease = hold();
  it.time.stop_for(30s - margin - 1ns);
  all.check(lease);
  EXPECT_TRUE(losses.empty());
  it.time.stop_for(1ns);
  all.check(lease);
  EXPECT_EQ(losses.size(), 1U);
}

TEST_F(managed_leases, gives_back_what_it_lost) {
  const record_ptr lease = hold();
  it.time.run_until(lease->deadline());  // the renewal got no answer, and may yet be carried out
  EXPECT_EQ(lease->state(), phase::lost);
  EXPECT_EQ(lease->reason, errc::lost);
  EXPECT_EQ(it.asked(), (tasks{task::renew, task::release}));
  it.answer(tickets::kept{{true}});
  EXPECT_EQ(lease->state(), phase::lost);
  it.answer(tickets::done{});
  EXPECT_EQ(it.port.busy(), 0U);
  EXPECT_EQ(losses.size(), 1U);
}

TEST_F(managed_leases, asks_at_once_when_it_is_notified_that_a_lease_was_ended) {
  const record_ptr lease = hold();
  it.tell(9, word_of_end());
  it.tell(1, word_of_grant(7));
  it.tell(1, {store::notice::revoked, fencing_token{6}});
  EXPECT_EQ(it.link.open(), 0U) << "somebody else's, an echo, an earlier hold's";
  it.tell(1, word_of_end());
  EXPECT_TRUE(losses.empty()) << "anybody may have sent it";
  ASSERT_EQ(it.asked(), tasks{task::renew});
  it.answer(tickets::kept{{false}});
  EXPECT_EQ(losses, std::vector{lease});
  EXPECT_EQ(lease->reason, errc::lost);
  it.tell(1, word_of_end());
  EXPECT_EQ(losses.size(), 1U);
}

TEST_F(managed_leases, loses_no_lease_to_a_forged_notification_and_asks_once_at_a_time) {
  const record_ptr lease = hold();
  it.time.run_for(1s);
  for (int forged = 0; forged < 100; ++forged) it.tell(1, word_of_end());
  ASSERT_EQ(it.asked(), tasks{task::renew});
  it.answer(tickets::kept{{true}});
  ASSERT_EQ(it.asked(), tasks{task::renew}) << "one more, for those that came meanwhile";
  it.answer(tickets::kept{{true}});
  EXPECT_EQ(it.link.open(), 0U);
  EXPECT_TRUE(losses.empty());
  EXPECT_EQ(lease->deadline(), epoch + 31s - margin);
}

TEST_F(managed_leases, does_not_prolong_a_fixed_lease_because_of_a_notification) {
  lease_core::wish fixed = a_wish();
  fixed.renews = false;
  const record_ptr lease = hold(fixed);
  it.time.run_for(1s);
  it.tell(1, word_of_end());
  it.answer(tickets::kept{{true}});
  EXPECT_EQ(lease->deadline(), epoch + 30s - margin);
  it.tell(1, word_of_end());
  it.answer(passing_unknown);
  it.time.run_for(1s);
  ASSERT_EQ(it.asked(), tasks{task::renew}) << "the question is still open";
  it.answer(tickets::kept{{false}});
  EXPECT_EQ(losses, std::vector{lease});
}

TEST_F(managed_leases, hears_no_revocation_of_what_it_has_released) {
  const record_ptr lease = hold();
  release(lease);
  it.tell(1, word_of_end());
  EXPECT_TRUE(losses.empty());
  EXPECT_EQ(lease->state(), phase::releasing);
}

TEST_F(managed_leases, ends_everything_when_it_is_closed) {
  const record_ptr lease = hold(a_wish(1));
  const record_ptr other = hold(a_wish(2));
  ask(a_wish(3));
  it.answer(waiting_at(9));
  ask(a_wish(4));  // its first reply is still to come
  it.time.turn([&] { all.close(); });
  ASSERT_EQ(ends.size(), 4U);
  for (int i : {2, 3}) EXPECT_EQ(std::get<failure>(ends[i]).code, errc::closed);
  ASSERT_EQ(losses.size(), 2U);
  EXPECT_EQ(lease->reason, errc::closed);
  EXPECT_EQ(lease->loss, loss_reason::client_closed);
  EXPECT_EQ(other->reason, errc::closed);
  // What is given back: the ticket, both holds, and what the reply may still bring.
  bool idle = false;
  it.port.when_idle([&] { idle = true; });
  ASSERT_EQ(it.link.open(), 4U);
  it.answer(granted_at(10), 0);  // the claim's; the others follow in the order of their requests
  std::multiset<task> rest;
  while (it.link.open() > 0) {
    rest.insert(it.link.asked().what);
    it.answer(tickets::done{});
  }
  EXPECT_EQ(rest, (std::multiset<task>{task::withdraw, task::withdraw, task::release, task::release}));
  EXPECT_TRUE(idle);
  all.close();
  EXPECT_EQ(ends.size(), 4U);
  it.time.run_for(1h);
  EXPECT_EQ(it.link.open(), 0U);
}

// While it is held.

TEST_F(managed_leases, renews_by_hand) {
  const record_ptr lease = hold();
  std::vector<renewal> told;
  const auto note = [&](renewal how) { told.push_back(how); };
  it.time.run_for(2s);
  all.renew(lease, note);
  it.answer(tickets::kept{{true}});
  EXPECT_EQ(lease->deadline(), epoch + 32s - margin);
  all.renew(lease, note);
  it.answer(tickets::kept{{false}});
  EXPECT_EQ(losses.size(), 1U);
  const auto sent = it.link.sent();
  all.renew(lease, note);
  EXPECT_EQ(told, (std::vector{renewal::renewed, renewal::lost, renewal::lost}));
  EXPECT_EQ(it.link.sent(), sent) << "the lost is not asked for";
}

class downgrading : public managed_leases {
 protected:
  void downgrade(const record_ptr& lease) {
    it.time.turn([&] {
      all.downgrade(lease, [this](std::optional<failure> failed) {
        results.push_back(failed ? failed->code : std::error_code{});
      });
    });
  }
  std::vector<std::error_code> results;
};

TEST_F(downgrading, makes_a_reader_of_a_writer) {
  const record_ptr lease = hold();
  downgrade(lease);
  ASSERT_EQ(it.asked(), tasks{task::downgrade});
  EXPECT_EQ(it.link.asked().token, fencing_token{7});
  EXPECT_EQ(it.link.asked().weight, 1);
  EXPECT_EQ(lease->how(), mode::exclusive);
  it.answer(tickets::done{});
  EXPECT_EQ(lease->how(), mode::shared);
  EXPECT_EQ(lease->hold.token, fencing_token{7}) << "the token stays";
  downgrade(lease);
  EXPECT_EQ(results, std::vector<std::error_code>(2)) << "a reader is one already";
  EXPECT_EQ(it.link.open(), 0U);
}

TEST_F(downgrading, finds_out_that_the_lease_was_lost) {
  const record_ptr lease = hold();
  downgrade(lease);
  it.answer(tickets::nothing{});
  EXPECT_EQ(results, std::vector{make_error_code(errc::lost)});
  EXPECT_EQ(losses, std::vector{lease});
  downgrade(lease);
  EXPECT_EQ(results.back(), errc::lost);
}

TEST_F(downgrading, leaves_a_writer_where_the_store_surely_did_nothing) {
  const record_ptr lease = hold();
  downgrade(lease);
  it.answer(lasting);
  EXPECT_EQ(results, std::vector{make_error_code(errc::unavailable)});
  EXPECT_EQ(lease->how(), mode::exclusive);
  EXPECT_EQ(lease->state(), phase::held);
}

TEST_F(downgrading, is_tried_again_until_it_is_answered) {
  const record_ptr lease = hold();
  downgrade(lease);
  it.answer(passing_unknown);
  it.time.run_for(5ms);
  it.answer(tickets::done{});
  EXPECT_EQ(results, std::vector<std::error_code>(1));
  EXPECT_EQ(lease->how(), mode::shared);
}

TEST_F(downgrading, of_unknown_outcome_is_asked_for_again) {
  const record_ptr lease = hold();
  downgrade(lease);
  it.answer(lasting_unknown);
  EXPECT_EQ(results.back(), errc::unknown_outcome);
  EXPECT_EQ(lease->how(), mode::shared) << "no more can be relied on";
  downgrade(lease);
  ASSERT_EQ(it.asked(), tasks{task::downgrade}) << "the store may still take it for a writer";
  it.answer(tickets::done{});
  EXPECT_EQ(results.back(), std::error_code{});
  downgrade(lease);
  EXPECT_EQ(it.link.open(), 0U);
}

TEST_F(downgrading, is_not_for_permits) {
  lease_core::wish w = a_wish();
  w.claim.how = mode::permits;
  w.claim.capacity = 3;
  const record_ptr lease = hold(w);
  downgrade(lease);
  EXPECT_EQ(results, std::vector{make_error_code(errc::wrong_type)});
  EXPECT_EQ(it.link.open(), 0U);
}

}  // namespace
}  // namespace holdfast
