// SPDX-License-Identifier: Apache-2.0
// Who may hold together, seen by a witness that is no lock.

#include <memory>
#include <thread>
#include <vector>

#include "contract/contract.hpp"
#include "support/actor.hpp"

namespace holdfast::contract {
namespace {

class exclusion : public in_both_flavours {
 protected:
  /// Lets every contender take and leave `turns` times, each in a thread of its own.
  void contend(const std::vector<std::pair<contender*, wish>>& all, int turns, std::int64_t capacity = 0) {
    std::vector<std::jthread> threads;
    for (const auto& [each, request] : all) {
      threads.emplace_back([this, each = each, request = request, turns, capacity] {
        for (int turn = 0; turn < turns; ++turn) {
          const auto got = each->take(request);
          ASSERT_TRUE(got.held) << got.code.message();
          witness_.visit(request.mode, got.held.token(), request.count, capacity);
        }
      });
    }
  }

  test::witness witness_{folder_.file("witness")};
};

TEST_P(exclusion, one_holder_among_the_users_of_an_object_the_threads_of_a_client_and_clients) {
  contender& lock = by(one(), "stock");
  contend({{&lock, exclusive},
           {&lock, exclusive},
           {&by(one(), "stock"), exclusive},
           {&by(one(), "stock"), exclusive},
           {&by(two(), "stock"), exclusive},
           {&by(open(), "stock"), exclusive}},
          40);
  EXPECT_EQ(witness_.overlaps(), 0);
  EXPECT_EQ(witness_.fragile_count(), 240);
}

TEST_P(exclusion, readers_come_together_and_writers_alone) {
  contend({{&by(one(), "stock"), shared},
           {&by(two(), "stock"), shared},
           {&by(one(), "stock"), exclusive},
           {&by(two(), "stock"), exclusive}},
          40);
  EXPECT_EQ(witness_.overlaps(), 0);
  EXPECT_EQ(witness_.fragile_count(), 80);
  EXPECT_EQ(witness_.count(), 160);
}

TEST_P(exclusion, permits_never_exceed_the_capacity) {
  HOLDFAST_NEEDS_PERMITS();
  contend({{&by(one(), "stock", 3), permits(1)},
           {&by(two(), "stock", 3), permits(1)},
           {&by(one(), "stock", 3), permits(2)},
           {&by(two(), "stock", 3), permits(3)}},
          40, 3);
  EXPECT_EQ(witness_.overlaps(), 0);
  EXPECT_EQ(witness_.count(), 160);
}

TEST_P(exclusion, a_second_object_for_a_held_name_is_refused) {
  const auto held = by(one(), "stock").take(exclusive);
  ASSERT_TRUE(held.held.held());
  for (client* locks : {&one(), &two()}) {
    const auto refused = by(*locks, "stock").take(exclusive.at_once());
    EXPECT_FALSE(refused.held);
    EXPECT_FALSE(refused.code) << refused.code.message();
  }
}

TEST_P(exclusion, readers_refuse_writers_and_a_writer_refuses_all) {
  {
    const auto reader = by(one(), "stock").take(shared);
    ASSERT_TRUE(reader.held);
    EXPECT_TRUE(by(two(), "stock").take(shared.at_once()).held);
    EXPECT_FALSE(by(two(), "stock").take(exclusive.at_once()).held);
  }
  const auto writer = by(one(), "stock").take(exclusive);
  ASSERT_TRUE(writer.held);
  EXPECT_FALSE(by(two(), "stock").take(shared.at_once()).held);
}

HOLDFAST_IN_BOTH_FLAVOURS(exclusion, any_store);

class processes : public on_each_store {
 protected:
  std::unique_ptr<test::actor> start() { return start_on(store_->url()); }
  std::unique_ptr<test::actor> start_mortal() { return start_on(store_->url_of_brief_sessions()); }

 private:
  static std::unique_ptr<test::actor> start_on(const std::string& url) {
    auto child = std::make_unique<test::actor>();
    EXPECT_EQ(child->ask("open " + url), "open");
    return child;
  }
};

TEST_P(processes, exclude_each_other) {
  const std::string place = folder_.file("witness");
  std::vector<std::unique_ptr<test::actor>> children;
  for (int each = 0; each < 3; ++each) {
    children.push_back(start());
    children.back()->tell("contend stock " + place + " 50");
  }
  children.push_back(start());
  children.back()->tell("contend stock " + place + " 50 shared");

  mutex lock{one(), "stock"};
  test::witness witness{place};
  for (int turn = 0; turn < 50; ++turn) {
    const auto held = lock.acquire();
    witness.visit(mode::exclusive, held.token());
  }
  for (const auto& child : children) EXPECT_EQ(child->hear(), "contended");
  EXPECT_EQ(witness.overlaps(), 0);
  EXPECT_EQ(witness.fragile_count(), 200);
  EXPECT_EQ(witness.count(), 250);
}

TEST_P(processes, that_die_holding_are_followed_when_their_ttl_ends) {
  const auto child = start_mortal();
  const auto first = child->hold("stock ttl=1000");
  child->kill();
  const auto next = mutex{one(), "stock"}.acquire();
  EXPECT_GT(next.token(), first);
}

// Nobody has to wait for its ttl. It becomes another program with its client open, as a shell script's last
// command.
TEST_P(processes, that_release_or_close_and_end_at_once_hold_nothing) {
  std::vector<std::string> ways{"release", "close"};
  // There a thread of the client sends: see mutex::unlock().
  const std::string url = store_->url();
  const bool has_own_thread = url.starts_with("sqlite:") || url.starts_with("mysql:") ||
                              url.starts_with("mariadb:") || url.find("notify=poll") != std::string::npos;
  if (!has_own_thread) ways.emplace_back("drop");
  for (const std::string& way : ways) {
    const auto child = start();
    const auto first = child->hold("stock ttl=3600000");
    child->tell("end " + way);
    EXPECT_EQ(child->finish(), 0) << way;
    const auto next = mutex{one(), "stock"}.try_acquire_for(60s);
    ASSERT_TRUE(next) << way;
    EXPECT_GT(next->token(), first) << way;
  }
}

TEST_P(processes, that_die_waiting_are_passed_over) {
  mutex lock{one(), "stock"};
  auto held = lock.acquire();
  const auto child = start_mortal();
  child->tell("hold stock ttl=500");
  ASSERT_TRUE(look().sees_waiters("stock", 1));
  child->kill();
  EXPECT_FALSE(held.release());
  EXPECT_TRUE(lock.acquire().held());
}

HOLDFAST_ON_EACH_STORE(processes, across_processes);

}  // namespace
}  // namespace holdfast::contract
