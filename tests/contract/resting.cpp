// SPDX-License-Identifier: Apache-2.0
// How long a name rests: after a loss, and after a release that comes too soon.

#include "contract/contract.hpp"
#include "support/actor.hpp"

namespace holdfast::contract {
namespace {

bool lets_names_rest(const store_kind& kind) { return !kind.keeps_sessions; }

using time_point = boot_clock::time_point;

/// The clock of a server may run at another rate than this process's.
constexpr auto clocks_differ = 10ms;

class grace : public on_each_store {
 protected:
  contender& by(client& locks, std::string_view name, const lock_options& options = {}) {
    return in_flavour(flavour::blocking, locks, name, 1, options);
  }
};

TEST_P(grace, passes_after_a_hold_that_was_not_renewed) {
  auto first = by(one(), "stock", lock_options{}.ttl(1s).renewal(false).grace(1s)).take(exclusive);
  ASSERT_TRUE(first.held) << first.code.message();
  const time_point deadline = first.held.deadline();
  EXPECT_LE(deadline, boot_clock::now() + 1s) << "the lease knows nothing of the grace";
  const auto next = by(two(), "stock").take(exclusive);
  EXPECT_GE(boot_clock::now(), deadline + 1s - clocks_differ);
  EXPECT_FALSE(first.held.held());
  EXPECT_GT(next.held.token(), first.held.token());
  EXPECT_EQ(by(one(), "stock").release(std::move(first.held)), errc::lost);
  EXPECT_TRUE(next.held.held());
}

TEST_P(grace, passes_after_shared_holds_and_permits_too) {
  HOLDFAST_NEEDS_PERMITS();
  const auto resting = lock_options{}.ttl(1s).renewal(false).grace(1s);
  const auto reader = by(one(), "stock", resting).take(shared);
  counting_semaphore seats{one(), "seats", 2, resting};
  const auto seat = seats.acquire_permits(1);
  const auto writer = by(two(), "stock").take(exclusive);
  EXPECT_GE(boot_clock::now(), reader.held.deadline() + 1s - clocks_differ);
  EXPECT_TRUE(writer.held.held());
  const auto both = in_flavour(flavour::blocking, two(), "seats", 2, {}).take(permits(2));
  EXPECT_GE(boot_clock::now(), seat.deadline() + 1s - clocks_differ);
  EXPECT_TRUE(both.held.held());
}

TEST_P(grace, does_not_hold_up_a_release) {
  within_a_ttl(1s, [&](duration rest) {
    const auto options = lock_options{}.ttl(10s).grace(rest);
    auto first = by(one(), "stock", options).take(exclusive);
    auto waiting = by(two(), "stock", options).start(exclusive);
    EXPECT_TRUE(look().sees_waiters("stock", 1));
    const auto before = boot_clock::now();
    EXPECT_FALSE(by(one(), "stock").release(std::move(first.held)));
    auto second = get(waiting);
    const bool is_sooner = boot_clock::now() < before + rest;
    EXPECT_TRUE(second.held.held());
    EXPECT_LE(second.held.remaining(), 10s);
    EXPECT_FALSE(by(two(), "stock").release(std::move(second.held)));
    EXPECT_TRUE(by(one(), "stock").take(exclusive.at_once()).held);
    return is_sooner;
  });
}

TEST_P(grace, does_not_follow_the_end_of_a_client_or_an_end_by_force) {
  within_a_ttl(1s, [&](duration rest) {
    const auto options = lock_options{}.ttl(10s).grace(rest);
    client& closed = open();
    const auto first = by(closed, "stock", options).take(exclusive);
    const auto before_closing = boot_clock::now();
    closed.close();
    const auto second = by(two(), "stock", options).take(exclusive);
    bool is_sooner = boot_clock::now() < before_closing + rest;
    const auto before_force = boot_clock::now();
    EXPECT_EQ(bystander().force_release("stock"), 1U);
    EXPECT_TRUE(by(bystander(), "stock").take(exclusive).held);
    is_sooner = is_sooner && boot_clock::now() < before_force + rest;
    EXPECT_TRUE(first.held && second.held) << first.code.message() << ", " << second.code.message();
    return is_sooner;
  });
}

TEST_P(grace, is_kept_by_renewals) {
  within_a_ttl(900ms, [&](duration ttl) {
    const auto first = by(one(), "stock", lock_options{}.ttl(ttl).grace(ttl)).take(exclusive);
    const auto deadline = first.held.deadline();
    EXPECT_TRUE(look().sees([&] { return first.held.deadline() > deadline || !first.held.held(); }));
    const auto seen = inspect("stock");
    if (!first.held.held()) return false;
    EXPECT_GT(seen.holders.at(0).expires_in, ttl);
    return true;
  });
}

HOLDFAST_ON_EACH_STORE(grace, lets_names_rest);

class grace_of_processes : public on_each_store {};

TEST_P(grace_of_processes, that_die_passes_before_the_next_one_holds) {
  within_a_ttl(1s, [&](duration ttl) {
    test::actor child;
    EXPECT_EQ(child.ask("open " + store_->url_of_brief_sessions()), "open");
    child.tell("hold stock grace=1000 ttl=" + std::to_string(ttl / 1ms));
    const auto first = test::token_in(child.hear());
    if (!first || child.ask("report") != "holding") return false;
    const auto died = boot_clock::now();
    child.kill();
    const auto next = mutex{one(), "stock"}.acquire();
    EXPECT_GE(boot_clock::now(), died + 1s - clocks_differ);
    EXPECT_GT(next.token(), first);
    return true;
  });
}

HOLDFAST_ON_EACH_STORE(grace_of_processes,
                       [](const store_kind& kind) { return kind.across_processes && lets_names_rest(kind); });

class at_least : public in_both_flavours {};

TEST_P(at_least, keeps_a_name_that_is_released_too_soon) {
  const auto before = boot_clock::now();
  auto first = by(one(), "stock", lock_options{}.ttl(10s).at_least(1s).label("nightly")).take(exclusive);
  ASSERT_TRUE(first.held) << first.code.message();
  const auto token = first.held.token();
  auto waiting = by(two(), "stock").start(exclusive);
  ASSERT_TRUE(look().sees_waiters("stock", 1));
  EXPECT_FALSE(by(one(), "stock").release(std::move(first.held)));
  // A minority of several servers may hear of it later.
  EXPECT_TRUE(look().sees([&] {
    const auto seen = inspect("stock");
    if (seen.holders.empty() || seen.holders.at(0).token != token) return true;
    EXPECT_EQ(seen.holders.at(0).claimant.label, "nightly");
    return seen.holders.at(0).expires_in <= 1s;
  }));
  const auto next = get(waiting);
  EXPECT_TRUE(next.held.held()) << next.code.message();
  EXPECT_GE(boot_clock::now(), before + 1s - clocks_differ);
  EXPECT_GT(next.held.token(), token);
}

TEST_P(at_least, outlives_the_client_and_its_ttl) {
  within_a_ttl(1s, [&](duration ttl) {
    const auto least = ttl + 1s;
    client& closed = open();
    const auto before = boot_clock::now();
    auto first = by(closed, "stock", lock_options{}.ttl(ttl).at_least(least)).take(exclusive);
    EXPECT_TRUE(first.held) << first.code.message();
    const auto code = by(closed, "stock").release(std::move(first.held));
    if (code == errc::lost) return false;
    EXPECT_FALSE(code) << code.message();
    closed.close();
    {
      const auto refused = by(two(), "stock").take(exclusive.at_once());
      EXPECT_TRUE(!refused.held || boot_clock::now() >= before + least - clocks_differ);
    }
    const auto next = by(two(), "stock").take(exclusive);
    EXPECT_GE(boot_clock::now(), before + least - clocks_differ);
    EXPECT_TRUE(next.held.held()) << next.code.message();
    return true;
  });
}

TEST_P(at_least, is_left_to_the_store_when_the_client_closes_while_it_holds) {
  within_a_ttl(1s, [&](duration ttl) {
    const auto least = ttl + 1s;
    client& closed = open();
    const auto before = boot_clock::now();
    const auto first = by(closed, "stock", lock_options{}.ttl(ttl).at_least(least)).take(exclusive);
    EXPECT_TRUE(first.held) << first.code.message();
    closed.close();
    EXPECT_FALSE(first.held.held());
    if (first.held.loss() != loss_reason::client_closed) return false;
    const auto next = by(two(), "stock").take(exclusive);
    EXPECT_GE(boot_clock::now(), before + least - clocks_differ);
    EXPECT_TRUE(next.held.held()) << next.code.message();
    return true;
  });
}

TEST_P(at_least, has_passed_and_a_release_is_a_usual_one) {
  auto first = by(one(), "stock", lock_options{}.ttl(20s).at_least(300ms)).take(exclusive);
  ASSERT_TRUE(first.held) << first.code.message();
  const auto granted = boot_clock::now();
  ASSERT_TRUE(look().sees([&] { return boot_clock::now() > granted + 300ms; }));
  EXPECT_FALSE(by(one(), "stock").release(std::move(first.held)));
  EXPECT_TRUE(by(two(), "stock").take(exclusive.at_once()).held);
}

TEST_P(at_least, concerns_each_shared_hold_and_permit) {
  HOLDFAST_NEEDS_PERMITS();
  within_a_ttl(1s, [&](duration ttl) {
    const auto least = ttl + 1s;
    const auto options = lock_options{}.ttl(ttl).at_least(least);
    const auto before = boot_clock::now();
    auto reader = by(one(), "stock", options).take(shared);
    counting_semaphore seats{one(), "seats", 2, options};
    auto seat = insist([&] { return seats.acquire_permits(1); });
    const auto of_reader = by(one(), "stock").release(std::move(reader.held));
    const auto of_seat = seat.release();
    if (of_reader == errc::lost || of_seat == errc::lost) return false;
    EXPECT_FALSE(of_reader) << of_reader.message();
    EXPECT_FALSE(of_seat) << of_seat.message();
    EXPECT_TRUE(by(two(), "stock").take(shared.at_once()).held);
    EXPECT_TRUE(by(two(), "seats", 2).take(permits(1).at_once()).held);
    const auto writer = by(two(), "stock").take(exclusive);
    EXPECT_GE(boot_clock::now(), before + least - clocks_differ);
    EXPECT_TRUE(writer.held.held()) << writer.code.message();
    EXPECT_TRUE(by(two(), "seats", 2).take(permits(2)).held.held());
    return true;
  });
}

HOLDFAST_IN_BOTH_FLAVOURS(at_least, lets_names_rest);

class resting : public on_each_store {
 protected:
  /// Until the name is seen to rest: a minority of several servers may hear of a release later.
  bool sees_rest() {
    return look().sees([&] {
      const auto state = inspect("stock");
      return state.holders.size() == 1 && state.holders.at(0).claimant.released;
    });
  }
};

TEST_P(resting, is_shown_and_may_be_ended) {
  mutex lock{one(), "stock", lock_options{}.ttl(10s).at_least(1h).label("nightly")};
  lock.lock();
  EXPECT_FALSE(inspect("stock").holders.at(0).claimant.released);
  lock.unlock();
  EXPECT_FALSE(lock.held());
  ASSERT_TRUE(sees_rest());
  EXPECT_EQ(inspect("stock").holders.at(0).claimant.label, "nightly");
  EXPECT_FALSE(lock.try_lock()) << "it rests for its former holder, too";
  EXPECT_EQ(bystander().force_release("stock"), 1U);
  EXPECT_TRUE(lock.try_lock_for(60s));
  lock.unlock();
  EXPECT_TRUE(sees_rest());
  EXPECT_EQ(bystander().force_release("stock"), 1U);
}

TEST_P(resting, does_not_concern_what_a_set_gives_back) {
  mutex second{two(), "b"};
  second.lock();
  lock_set both{one(), {"a", "b"}, lock_options{}.ttl(10s).at_least(1h)};
  EXPECT_FALSE(both.try_acquire());
  EXPECT_TRUE(look().sees_holders("a", 0)) << "nobody has worked under it";
}

TEST_P(resting, is_refused_by_elections_after_a_resignation_alone) {
  within_a_ttl(1s, [&](duration rest) {
    {
      const term won = election{one(), "scheduler", lock_options{}.ttl(10s).grace(rest)}.campaign("a");
      EXPECT_TRUE(won.held());
    }
    const auto resigned = boot_clock::now();
    EXPECT_TRUE(election(two(), "scheduler").try_campaign_for("b", 60s));
    return boot_clock::now() < resigned + rest;  // a resignation waits for no grace
  });
  EXPECT_THROW(static_cast<void>(election(one(), "other", lock_options{}.at_least(1s)).campaign("a")), error);
}

HOLDFAST_ON_EACH_STORE(resting, lets_names_rest);

class session_stores : public on_each_store {};

TEST_P(session_stores, refuse_to_let_a_name_rest) {
  const auto code_of = [&](const lock_options& options) {
    return failure_of([&] { return mutex{one(), "stock", options}.acquire(); }).code;
  };
  EXPECT_EQ(code_of(lock_options{}.grace(5s)), errc::invalid_argument);
  EXPECT_EQ(code_of(lock_options{}.at_least(5s)), errc::invalid_argument);
  EXPECT_FALSE(code_of(lock_options{}));
}

HOLDFAST_ON_EACH_STORE(session_stores, [](const store_kind& kind) { return !lets_names_rest(kind); });

}  // namespace
}  // namespace holdfast::contract
