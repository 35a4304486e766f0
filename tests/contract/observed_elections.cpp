// SPDX-License-Identifier: Apache-2.0
// Observers of elections: each leader, in order, whatever happens to the store.

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "contract/contract.hpp"

namespace holdfast::contract {
namespace {

/// All that an observer has reported, in order.
class reports {
 public:
  void add(const observation& seen) {
    {
      const std::lock_guard hold{mutex_};
      all_.push_back(seen);
    }
    changed_.notify_all();
  }
  /// Waits until the last report is so. False after far longer than that may take.
  bool come_to(const std::function<bool(const observation&)>& is_so) {
    std::unique_lock hold{mutex_};
    return changed_.wait_for(hold, 60s, [&] { return !all_.empty() && is_so(all_.back()); });
  }
  bool show(const std::string& value) {
    return come_to(
        [&](const observation& last) { return !last.failed && last.leader && last.leader->value == value; });
  }
  bool show_nobody() {
    return come_to([](const observation& last) { return !last.failed && !last.leader; });
  }
  std::vector<observation> all() {
    const std::lock_guard hold{mutex_};
    return all_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<observation> all_;
};

class observed_elections : public on_each_store {
 protected:
  using pending_term = std::future<std::optional<term>>;

  pending_term start(client& locks, std::string value, std::stop_token stop = {}) {
    return std::async(std::launch::async, [&locks, value = std::move(value), stop = std::move(stop)] {
      return election{locks, "boss"}.try_campaign_for(value, 100s, stop);
    });
  }
  bool sees_standbys(std::size_t count) { return look().sees_waiters("boss", count); }
};

TEST_P(observed_elections, are_observed) {
  reports seen;
  election boss{one(), "boss"};
  const auto observer = election{two(), "boss"}.observe([&](const observation& each) { seen.add(each); });
  EXPECT_TRUE(seen.show_nobody());
  auto first = boss.campaign("first");
  EXPECT_TRUE(seen.show("first"));
  auto second = start(one(), "second");
  ASSERT_TRUE(sees_standbys(1));
  EXPECT_FALSE(first.resign());
  EXPECT_TRUE(seen.show("second"));
  auto held = second.get();
  ASSERT_TRUE(held);
  EXPECT_FALSE(held->resign());
  EXPECT_TRUE(seen.show_nobody());
  const auto all = seen.all();
  fencing_token newest;
  for (const observation& each : all) {
    EXPECT_FALSE(each.failed) << each.failed->what();
    if (!each.leader) continue;
    EXPECT_GE(each.leader->token, newest);
    newest = each.leader->token;
  }
  EXPECT_GE(all.size(), 4U);
}

TEST_P(observed_elections, are_observed_through_a_silence_of_the_store) {
  if (!kind_.breakable) GTEST_SKIP() << "this store does not stop";
  client& locks = open(client_options{}.locks(lock_options{}.retry(retry_policy{}.limit(200ms))));
  reports seen;
  const auto observer = election{locks, "boss"}.observe([&](const observation& each) { seen.add(each); });
  auto held = election{one(), "boss", lock_options{}.ttl(60s)}.campaign("first");
  EXPECT_TRUE(seen.show("first"));
  store_->stop_answering();
  if (kind_.scheme != "sqlite") {  // where a locked file can be read
    EXPECT_TRUE(seen.come_to([](const observation& last) { return last.failed.has_value(); }));
  }
  store_->answer_again();
  EXPECT_TRUE(seen.come_to([](const observation& last) { return !last.failed; }));
  EXPECT_FALSE(held.resign());
  const auto next = election{one(), "boss"}.campaign("second");
  EXPECT_TRUE(seen.show("second"));
}

TEST_P(observed_elections, tell_their_observers_that_the_client_is_closed) {
  reports seen;
  client& locks = open();
  const auto observer = election{locks, "boss"}.observe([&](const observation& each) { seen.add(each); });
  EXPECT_TRUE(seen.show_nobody());
  locks.close();
  EXPECT_TRUE(seen.come_to(
      [](const observation& last) { return last.failed && last.failed->code() == errc::closed; }));
  EXPECT_THROW((void)election(locks, "boss").observe([](const observation&) {}), error);
  EXPECT_THROW((void)election(one(), "boss").observe(nullptr), error);
  EXPECT_THROW((void)election(locks, "boss").leader(), error);
}

TEST_P(observed_elections, end_an_observation_from_within) {
  std::promise<void> ended;
  std::shared_ptr<void> observer;
  std::mutex assigned;
  {
    const std::lock_guard hold{assigned};
    observer = election{one(), "boss"}.observe([&](const observation&) {
      auto& last = ended;
      {
        const std::lock_guard wait{assigned};
        observer.reset();
      }
      last.set_value();  // the test may end now, and its mutex with it
    });
  }
  EXPECT_EQ(ended.get_future().wait_for(60s), std::future_status::ready);
}

// A term begins after the one before it, also while they change hands as fast as they can.
TEST_P(observed_elections, lead_one_at_a_time) {
  constexpr int turns = 15;
  int inside = 0;
  int most = 0;
  int total = 0;
  reports seen;
  const auto observer =
      election{bystander(), "boss"}.observe([&](const observation& each) { seen.add(each); });
  const auto lead = [&](client& locks, const std::string& value) {
    election boss{locks, "boss"};
    for (int turn = 0; turn < turns; ++turn) {
      auto held = boss.campaign(value);
      most = std::max(most, ++inside);  // not atomic: the election is what protects it
      ++total;
      --inside;
      EXPECT_TRUE(held.held());
      EXPECT_FALSE(held.resign());
    }
  };
  {
    std::jthread first{[&, &locks = one()] { lead(locks, "first"); }};
    std::jthread second{[&, &locks = two()] { lead(locks, "second"); }};
    std::jthread third{[&, &locks = open()] { lead(locks, "third"); }};
  }
  EXPECT_EQ(total, 3 * turns);
  EXPECT_EQ(most, 1);
  auto last = election{one(), "boss"}.campaign("last");
  EXPECT_TRUE(seen.show("last"));
  EXPECT_FALSE(last.resign());
  EXPECT_TRUE(seen.show_nobody());
  fencing_token newest;
  for (const observation& each : seen.all()) {
    if (!each.leader) continue;
    EXPECT_GE(each.leader->token, newest);
    newest = each.leader->token;
  }
}

HOLDFAST_ON_EACH_STORE(observed_elections, any_store);

}  // namespace
}  // namespace holdfast::contract
