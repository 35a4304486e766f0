// SPDX-License-Identifier: Apache-2.0
// Servers that are killed, restarted and stopped under those who hold and those who wait.

#include "faults/zookeeper/on_zookeeper.hpp"
#include "support/amount.hpp"
#include "support/witness.hpp"
#include "support/zookeeper_ensemble.hpp"

namespace holdfast::faults {
namespace {

using test::zookeeper_ensemble;

/// A busy machine may take more than a minute to start a server: sessions that are to outlive that are
/// longer.
const std::vector<std::string> with_long_sessions{"maxSessionTimeout=180000"};
const std::string longest = "?session_timeout=3min";

class zookeeper_alone : public on_zookeeper {
 protected:
  zookeeper_alone() : on_zookeeper{{.lines = with_long_sessions}} {}
};

TEST_F(zookeeper_alone, that_is_killed_and_comes_back_costs_nobody_anything) {
  client locks{server_.url(longest), living(600s)};
  auto held = mutex{locks, "stock"}.acquire();
  const auto waiter = start(server_.url(longest));
  waiter->tell("hold stock");
  expect_contenders(2);

  server_.kill();
  server_.start();
  auto answer = held.renew();
  while (answer == renewal::unknown) answer = held.renew();  // not connected again yet
  EXPECT_EQ(answer, renewal::renewed);
  EXPECT_EQ(zookeeper_console{server_.port()}.children("/stock").size(), 2U);
  const auto held_token = held.token();
  EXPECT_FALSE(held.release());
  EXPECT_GT(hear_token(*waiter), held_token);
}

TEST_F(zookeeper_alone, that_loses_everything_loses_the_lease_and_the_session) {
  client locks{server_.url(), living(2s)};
  auto held = mutex{locks, "stock"}.acquire();
  loss loss_signal{held};
  server_.kill();
  server_.start_empty();
  loss_signal.expect_told();
  EXPECT_FALSE(held.held());
  EXPECT_EQ(held.release(), errc::lost);
  // Who has seen later changes than the server has is not let in by it. A new session has seen none.
  mutex again{locks, "stock", lock_options{}.retry(retry_policy{}.limit(60s))};
  again.lock();
  EXPECT_TRUE(again.held());
  again.unlock();
  client others{server_.url()};
  EXPECT_TRUE(mutex(others, "stock").try_lock_for(60s));
}

TEST_F(zookeeper_alone, that_stands_still_for_longer_than_the_session_is_left_in_time_and_found_again) {
  client locks{server_.url(), living(3s)};
  auto held = mutex{locks, "stock"}.acquire();
  loss loss_signal{held};
  const auto waiter = start(server_.url(), "ttl=20000");  // its session outlasts the stop
  waiter->tell("hold stock ttl=20000");
  expect_contenders(2);

  server_.stop();
  loss_signal.expect_told();  // while nobody else can be let in
  EXPECT_FALSE(held.held());
  server_.go_on();
  EXPECT_TRUE(hear_token(*waiter));
  EXPECT_EQ(held.release(), errc::lost);
  waiter->tell("report");
  EXPECT_EQ(hear_answer(*waiter), "holding");
  EXPECT_EQ(waiter->ask("release"), "released");
  EXPECT_TRUE(mutex(locks, "stock").try_lock_for(60s));
}

class zookeeper_three : public testing::Test {
 protected:
  static std::unique_ptr<actor> start(const std::string& url) {
    auto other = std::make_unique<actor>();
    EXPECT_EQ(other->ask("open " + url), "open");
    return other;
  }
  static renewal renew(lease& held) {
    auto answer = held.renew();
    while (answer == renewal::unknown) answer = held.renew();
    return answer;
  }

  zookeeper_ensemble three_{zookeeper_server::settings{.lines = with_long_sessions}};
};

TEST_F(zookeeper_three, members_killed_or_stopped_one_by_one_cost_nobody_anything_and_let_no_two_in) {
  // A client leaves a server that stands still after two thirds of its session.
  const std::string url = three_.url("/app?session_timeout=6s");
  client locks{three_.url("/app"), living(60s)};
  auto held = mutex{locks, "held"}.acquire();
  const test::scratch_folder folder;
  const test::witness witness{folder.file("witness")};
  std::vector<std::unique_ptr<actor>> clients;
  const int turns = test::amount(100, 300);
  for (int each = 0; each < 3; ++each) {
    clients.push_back(start(url));
    clients.back()->tell(
        "contend stock " + folder.file("witness") + ' ' + std::to_string(turns) +
        " retry=60000");  // the others may take long to elect one when the leader stands still
  }
  const auto progress = [&] {
    const auto before = witness.count();
    await([&] { return witness.count() >= std::min<std::int64_t>(before + 20, 3 * turns); },
          "nobody gets in any more");
  };
  auto& follows = three_.follower();
  follows.kill();
  progress();
  three_.start({&follows});
  auto& led = three_.leader();
  led.kill();
  progress();
  three_.start({&led});
  auto& stands = three_.follower();
  stands.stop();
  progress();
  stands.go_on();
  await([&] { return stands.mode() == "follower"; }, "it does not follow again");
  auto& leads = three_.leader();
  leads.stop();
  progress();
  leads.go_on();
  for (const auto& each : clients) EXPECT_EQ(hear_answer(*each), "contended");
  EXPECT_EQ(witness.overlaps(), 0);
  EXPECT_EQ(witness.fragile_count(), turns * 3);
  EXPECT_EQ(renew(held), renewal::renewed);
}

TEST_F(zookeeper_three, two_or_all_of_them_down_and_back_cost_those_whose_session_is_shorter) {
  client patient{three_.url(longest)};
  client hasty_one{three_.url(), living(4s)};
  const auto waiter = start(three_.url(longest));
  auto kept = mutex{patient, "kept"}.acquire();
  auto brief = mutex{hasty_one, "brief"}.acquire();
  waiter->tell("hold brief");
  // Or the machine stands still for a session, and it waits no more.
  await([&] { return !patient.inspect("brief").value().waiters.empty() || !brief.held(); }, "nobody waits");
  loss loss_signal{brief};

  auto& one = three_.follower();
  one.kill();
  auto& two = three_.leader();
  two.kill();
  loss_signal.expect_told();
  EXPECT_FALSE(brief.held());
  EXPECT_TRUE(kept.held());
  const auto failed = failure_of([&] { mutex{patient, "other", hasty()}.lock(); });
  EXPECT_TRUE(failed.code == errc::unavailable || failed.code == errc::unknown_outcome) << failed.text;
  three_.start({&one, &two});
  EXPECT_GT(hear_token(*waiter), brief.token());
  EXPECT_EQ(renew(kept), renewal::renewed);

  for (std::size_t each = 0; each < zookeeper_ensemble::size; ++each) three_[each].kill();
  three_.start({&three_[0], &three_[1], &three_[2]});
  EXPECT_EQ(renew(kept), renewal::renewed);
  waiter->tell("report");
  EXPECT_EQ(hear_answer(*waiter), "holding");
  EXPECT_FALSE(mutex(hasty_one, "kept", faults::patient()).try_lock_for(5s));
  EXPECT_FALSE(kept.release());
  EXPECT_TRUE(mutex(hasty_one, "kept").try_lock_for(60s));
}

TEST_F(zookeeper_three, show_through_one_what_was_granted_through_another) {
  const auto unhurried = client_options{}.locks(patient());
  client by_follower{three_.follower().url("/app"), unhurried};
  client by_leader{three_.leader().url("/app"), unhurried};
  mutex stock{by_follower, "stock"};
  // The leader comes to know it later than the follower only now and then, on a machine that has more to do.
  for (int round = 0; round < test::amount(100, 500); ++round) {
    const lease held = stock.acquire();
    const auto state = by_leader.inspect("stock");
    ASSERT_TRUE(state);
    ASSERT_EQ(state->holders.size(), 1U) << "of round " << round;
    EXPECT_EQ(state->holders[0].token, held.token());
  }
}

}  // namespace
}  // namespace holdfast::faults
