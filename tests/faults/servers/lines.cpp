// SPDX-License-Identifier: Apache-2.0
// Connections to a server that are cut, mute or slow.

#include <atomic>
#include <future>
#include <optional>
#include <utility>

#include "faults/servers/servers.hpp"
#include "support/amount.hpp"
#include "support/fault_proxy.hpp"

namespace holdfast::faults {
namespace {

using test::direction;
using test::ending;
using test::fault_proxy;
using testing::HasSubstr;

template <class Server>
class by_a_line : public on_each<Server> {
 protected:
  [[nodiscard]] std::string far_url(const std::string& options = {}) const {
    return this->server_->url(line_.port(), options);
  }
  /// With patience for answers that take long.
  [[nodiscard]] std::string patient_url() const {
    return far_url(this->GetParam().keeps_sessions ? "?session_timeout=40s" : "?answer_timeout=60s");
  }

  fault_proxy line_{this->server_->port()};
};

class server_lines : public by_a_line<server> {
 protected:
  /// Where tables have to be made first, a notification may come too early, and once more.
  void make_store() { expect_free(); }
  void expect_no_new_connection() const { EXPECT_LE(line_.taken(), GetParam().connections); }
};

TEST_P(server_lines, cut_under_contention_let_no_two_in) {
  contending_actors all{far_url(), 50, hurry()};
  for (std::int64_t wanted = 15; wanted <= 120; wanted += 21) {
    all.await(wanted);
    line_.cut_all(wanted % 2 == 0 ? ending::reset : ending::finish);
  }
  all.expect_order();
  expect_free();
}

// What happened meanwhile is no notification's matter: a watch is called once when the server is back.
TEST_P(server_lines, cut_have_a_watch_of_a_name_called_when_they_are_back) {
  make_store();
  client direct{url()};
  const client onlooker{far_url()};
  std::atomic<int> calls = 0;
  const auto watch = onlooker.watch("stock", [&] { ++calls; });
  const auto sees = [&](std::size_t holders) {
    for (int seen = -1;;) {
      if (onlooker.inspect("stock").value_or(lock_state{}).holders.size() == holders) return true;
      seen = std::exchange(seen, calls);
      if (!comes_true([&] { return calls > seen; })) return false;
    }
  };
  EXPECT_TRUE(sees(0));
  lease held;
  for (std::size_t holders : {1U, 0U, 1U}) {
    line_.refuse(true);
    line_.cut_all(ending::reset);
    if (holders == 1) {
      held = mutex{direct, "stock", patient()}.acquire();
    } else {
      EXPECT_FALSE(held.release());
    }
    const int before = calls;
    line_.refuse(false);
    await([&] { return calls > before; }, "it is not called after the reconnect");
    await([&] { return !failure_of([&] { EXPECT_TRUE(sees(holders)); }).code; }, "it sees nothing");
    EXPECT_FALSE(mutex(direct, "other").acquire().release());
  }
  const int before = calls;
  EXPECT_FALSE(held.release());
  await([&] { return calls > before; }, "it hears of nothing any more");
}

TEST_P(server_lines, that_hold_back_for_a_while_cost_nothing) {
  make_store();
  client locks{patient_url()};
  auto held = mutex{locks, "stock"}.acquire();
  line_.interfere(direction::to_client, {.stall = true});
  auto other = std::async(std::launch::async, [&] { return mutex{locks, "other"}.acquire(); });
  EXPECT_EQ(other.wait_for(100ms), std::future_status::timeout);
  line_.heal();
  EXPECT_TRUE(other.get().held());
  EXPECT_FALSE(held.release());
  expect_no_new_connection();
}

TEST_P(server_lines, that_are_slow_are_slow_and_no_more) {
  make_store();
  client locks{patient_url()};
  mutex lock{locks, "stock"};
  lock.lock();
  lock.unlock();
  for (const auto way : {direction::to_client, direction::to_server}) {
    line_.interfere(way, {.bytes_per_second = 500});
    for (int turn = 0; turn < 2; ++turn) EXPECT_FALSE(lock.acquire().release());
  }
  expect_no_new_connection();
}

// Whoever is not the first in the queue looks again after a third of the ttl, here after 20 minutes, and a
// line that is quiet is tried after 15 s: only the notification, and the request that follows it, can serve
// the third sooner.
TEST_P(server_lines, that_are_quiet_carry_the_request_that_a_notification_causes) {
  const test::stall_meter meter;
  make_store();
  const auto options = client_options{}.locks(lock_options{}.ttl(1h));
  client one{patient_url(), options};
  client two{patient_url(), options};
  client three{patient_url(), options};
  const auto in_queue = [&](std::size_t count) {
    await([&] { return one.inspect("stock").value_or(lock_state{}).waiters.size() == count; },
          "somebody does not come to wait");
  };
  const auto wait_on = [](client& locks) {
    return std::async(std::launch::async, [&] { return mutex{locks, "stock"}.acquire(); });
  };
  auto first = mutex{one, "stock"}.acquire();
  auto second = wait_on(two);
  in_queue(1);
  auto third = wait_on(three);
  in_queue(2);
  EXPECT_FALSE(first.release());
  const auto released = boot_clock::now();
  EXPECT_FALSE(second.get().release());
  EXPECT_FALSE(third.get().release());
  EXPECT_LT(boot_clock::now() - released, meter.stretched(12s, released))
      << "the notification was not acted upon";
}

TEST_P(server_lines, that_are_far_shorten_what_may_be_believed) {
  client locks{far_url(), client_options{}.locks(lock_options{}.ttl(10s))};
  mutex lock{locks, "stock"};
  lock.lock();
  lock.unlock();
  line_.interfere(direction::to_client, {.delay = 200ms});
  const auto held = lock.acquire();
  EXPECT_LE(held.remaining(), 9800ms) << "counted from the answer";
}

TEST_P(server_lines, that_are_refused_say_so_and_are_tried_again) {
  client locks{far_url()};
  (void)mutex{locks, "stock"}.acquire();
  mutex lock{locks, "stock", hasty()};
  line_.refuse(true);
  line_.cut_all(ending::reset);
  // What was sent before the cut was heard of may have been carried out; what is asked next surely was not.
  failure_of([&] { lock.lock(); });
  const auto failed = failure_of([&] { lock.lock(); });
  EXPECT_EQ(failed.code, errc::unavailable) << failed.text;
  EXPECT_THAT(failed.text, HasSubstr("127.0.0.1:" + std::to_string(line_.port())));
  line_.refuse(false);
  EXPECT_TRUE(mutex(locks, "stock").try_lock_for(60s));
}

TEST_P(server_lines, that_swallow_a_claim_leave_its_outcome_unknown) {
  client locks{far_url()};
  mutex lock{locks, "stock", patient()};
  failing failed;
  do {
    line_.heal();
    EXPECT_FALSE(lock.acquire().release());
    line_.interfere(direction::to_server, {.swallow = true});
    failed = failure_of([&] { return lock.try_acquire_for(300ms); });
  } while (failed.code == errc::unavailable);  // it waited behind a request of the client itself
  EXPECT_EQ(failed.code, errc::unknown_outcome) << failed.text;
  line_.heal();
  EXPECT_FALSE(lock.acquire().release());
}

TEST_P(server_lines, that_go_mute_cost_the_lease_and_no_more) {
  make_store();  // which may take longer than those timeouts
  const bool keeps_sessions = GetParam().keeps_sessions;
  for (const auto way : {direction::to_client, direction::to_server}) {
    client locks{far_url(keeps_sessions ? "?connect_timeout=1s" : "?answer_timeout=1s&connect_timeout=1s"),
                 client_options{}.locks(lock_options{}.ttl(3s))};
    auto held = mutex{locks, "stock"}.acquire();
    loss loss_signal{held};
    line_.interfere(way, {.swallow = true});
    const auto failed = failure_of([&] { mutex{locks, "other", hasty()}.lock(); });
    EXPECT_TRUE(failed.code == errc::unavailable || failed.code == errc::unknown_outcome) << failed.text;
    // A session is kept by each try to connect that comes to the server.
    if (!keeps_sessions || way == direction::to_server) {
      client direct{url()};
      const auto next = mutex{direct, "stock"}.acquire();
      EXPECT_FALSE(held.held()) << "two hold";
      EXPECT_GT(next.token(), held.token());
    }
    loss_signal.expect_told();
    EXPECT_FALSE(held.held());
    line_.heal();
    EXPECT_TRUE(mutex(locks, "other").try_lock_for(60s));
    EXPECT_EQ(held.release(), errc::lost);
    locks.close();
    expect_free();
  }
}

HOLDFAST_ON_EACH_SERVER(server_lines, server_kinds, any_kind<server>);

/// Of servers on which each claim has a ttl of its own.
class server_lines_of_claims : public by_a_line<server> {};

TEST_P(server_lines_of_claims, cut_behind_any_byte_lose_nothing) {
  client locks{far_url()};
  mutex lock{locks, "stock", patient()};
  fencing_token last;
  const auto turn = [&] {
    auto held = lock.acquire();
    EXPECT_GT(held.token(), last);
    last = held.token();
    EXPECT_FALSE(held.release());
  };
  turn();
  const auto before = line_.passed(direction::to_server);
  turn();
  // Twice over all that a turn says, so that commits are among what is cut, with their answers lost.
  const std::size_t said = line_.passed(direction::to_server) - before;
  for (const auto way : {direction::to_client, direction::to_server}) {
    for (std::size_t bytes = 0; bytes < 2 * said; bytes += test::amount(21, 7)) {
      line_.interfere(way, {.cut_after = bytes, .cut_by = bytes % 2 == 0 ? ending::reset : ending::finish});
      turn();
    }
    line_.heal();
  }
  EXPECT_GT(line_.taken(), 20U) << "hardly anything was cut";
  expect_free();
}

HOLDFAST_ON_EACH_SERVER(server_lines_of_claims, server_kinds,
                        [](const server_kind& kind) { return !kind.keeps_sessions; });

class database_lines : public by_a_line<database> {};

TEST_P(database_lines, cut_while_they_are_made_are_made_again) {
  for (const auto way : {direction::to_client, direction::to_server}) {
    for (std::size_t bytes = 0; bytes < 1500; bytes += 97) {
      line_.interfere(way, {.cut_after = bytes, .cut_by = bytes % 2 == 0 ? ending::reset : ending::finish});
      client locks{far_url()};
      EXPECT_FALSE(mutex(locks, "stock", patient()).acquire().release());
    }
    line_.heal();
  }
  expect_free();
}

// The commit is made, and its answer is lost: whoever asked finds by its owner id that it holds.
TEST_P(database_lines, cut_after_the_commit_find_what_was_committed) {
  client locks{far_url("?answer_timeout=60s")};
  mutex lock{locks, "stock", patient()};
  // A new connection prepares its statements first, and would lose the answers to that.
  const auto warm_up = [&] { EXPECT_FALSE(mutex(locks, "warm", patient()).acquire().release()); };
  // It sweeps first, in steps: what was lost could be the answer to one of those, and the claim behind it.
  const auto has_swept = [&] {
    warm_up();
    return server_->number("SELECT count(*) FROM holdfast_locks_sweeps WHERE swept > 0") == 1;
  };
  await(has_swept, "it does not come to the end of its sweep");
  for (int turn = 0; turn < 5; ++turn) {
    warm_up();
    line_.interfere(direction::to_client, {.swallow = true});
    auto acquired = std::async(std::launch::async, [&] { return lock.acquire(); });
    await([&] { return server_->claims() == 1; }, "it is not granted");
    const auto committed = server_->number("SELECT token FROM holdfast_locks_claims");
    line_.cut_all(ending::reset);
    line_.heal();
    auto held = acquired.get();
    EXPECT_EQ(held.token(), fencing_token{static_cast<std::uint64_t>(committed)}) << "another one was made";
    EXPECT_EQ(server_->claims(), 1);

    warm_up();
    line_.interfere(direction::to_client, {.swallow = true});
    auto released = std::async(std::launch::async, [&] { return held.release(); });
    await([&] { return server_->claims() == 0; }, "it is not released");
    line_.cut_all(ending::reset);
    line_.heal();
    EXPECT_FALSE(released.get());
  }
  EXPECT_EQ(server_->idle_transactions(), 0);
  expect_free();
}

// A client is gone, and nobody tells the server, which was in the middle of hearing its request. Who is lost
// at the few bytes that end one may keep the row until the server finds out, and nobody else does.
TEST_P(database_lines, that_go_mute_in_mid_request_keep_the_row_in_one_place_alone) {
  client others{url()};
  // A server that limits how long a row is waited for says that somebody else has it.
  const auto others_get_in = [&](duration limit) {
    std::optional<lease> held;
    const auto failed = failure_of([&] { held = mutex(others, "stock").try_acquire_for(limit); });
    const bool row_is_locked =
        failed.text.find("another session holds a lock on the row") != std::string::npos;
    EXPECT_TRUE(!failed.code || failed.code == errc::unknown_outcome || row_is_locked) << failed.text;
    return held.has_value();
  };
  client first{far_url()};
  mutex lock{first, "stock"};
  EXPECT_FALSE(lock.acquire().release());
  const auto before = line_.passed(direction::to_server);
  EXPECT_TRUE(lock.try_acquire());  // given back without waiting
  first.close();
  expect_free();
  const std::size_t at_most = line_.passed(direction::to_server) - before;
  int kept = 0;
  for (std::size_t bytes = 1; bytes < at_most;
       bytes += bytes < 100 ? 23 : test::amount(3, 1) * GetParam().shortest_part) {
    client locks{far_url(), client_options{}.flush_limit(0s)};
    EXPECT_FALSE(mutex(locks, "stock").acquire().release());
    line_.interfere(direction::to_server, {.cut_after = bytes, .cut_by = ending::silence});
    auto one = std::async(std::launch::async, [&] {
      failure_of([&] { (void)mutex{locks, "stock", hasty().ttl(200ms)}.try_lock_for(100ms); });
    });
    await([&] { return line_.swallowed(direction::to_server) > 0; }, "nothing is swallowed");
    if (!others_get_in(3s)) {
      ++kept;
      line_.cut_all(ending::reset);  // as the server finds out
      EXPECT_TRUE(others_get_in(60s)) << bytes;
    }
    line_.cut_all(ending::reset);
    line_.heal();
    one.get();
  }
  EXPECT_LE(kept, 5);
}

// The former connection hangs: the server does not know that it is over, nor that another takes its place.
TEST_P(database_lines, that_are_given_up_for_mute_leave_no_session_behind) {
  const auto usual = static_cast<std::int64_t>(GetParam().connections);
  expect_free();  // makes the tables, which takes a busy machine longer than an answer may
  client locks{far_url("?answer_timeout=200ms")};
  auto held = mutex{locks, "stock", patient()}.acquire();
  await([&] { return server_->sessions() == usual; }, "it does not come to be connected");
  line_.interfere(direction::to_client, {.swallow = true});
  EXPECT_EQ(held.renew(), renewal::unknown);
  line_.heal();
  EXPECT_EQ(renew(held), renewal::renewed);
  await([&] { return server_->sessions() <= usual; }, "the former one is still there");
}

HOLDFAST_ON_EACH_SERVER(database_lines, database_kinds, any_kind<database>);

}  // namespace
}  // namespace holdfast::faults
