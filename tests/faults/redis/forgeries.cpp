// SPDX-License-Identifier: Apache-2.0
// A server that is one, and a line on which somebody else joins in: after the greeting, in place of answers,
// in the middle of them and behind them. Errors at worst, within the caller's patience; and when it is over,
// nothing of it is left.

#include <atomic>
#include <mutex>
#include <random>
#include <string>
#include <thread>

#include "faults/faults.hpp"
#include "faults/hostile_bytes.hpp"
#include "faults/redis/bulk.hpp"
#include "support/fault_proxy.hpp"
#include "support/redis_server.hpp"

namespace holdfast::faults {
namespace {

using test::fault_proxy;

/// What is left behind on a bad line, or stands there by its own claim alone, is soon over.
lock_options brief() {
  return lock_options{}.ttl(300ms).wait_limit(100ms).retry(retry_policy{}.limit(60ms).longest(20ms));
}

class redis_forgeries : public testing::Test {
 protected:
  [[nodiscard]] std::string url() const {
    return "redis://127.0.0.1:" + std::to_string(line_.port()) + "?failover_guard=0";
  }
  [[nodiscard]] client open() const {
    return client{url() + "&answer_timeout=100ms", client_options{}.flush_limit(0ms).locks(brief())};
  }
  /// From now on, `how` is put in place of every answer to a script; greetings stay what they are. It has
  /// what it needs by value: the line goes on for a moment when a test is over.
  void forge(std::function<std::string(std::string_view answer)> forger) {
    line_.forge([this, forger = std::move(forger)](std::string_view request, std::string_view answer) {
      if (request.find("EVAL") == std::string_view::npos && request.find("SCAN") == std::string_view::npos) {
        return std::string{answer};
      }
      ++forged_;
      return forger(answer);
    });
  }
  /// Everything there is to ask for; what went wrong with each.
  static std::vector<failing> ask_for_all(client& locks, lease& held) {
    shared_mutex lock{locks, "stock"};
    counting_semaphore permits{locks, "permits", 3};
    return {failure_of([&] { (void)lock.try_acquire(); }),
            failure_of([&] { (void)lock.acquire_shared(); }),
            failure_of([&] { (void)permits.acquire_permits(2); }),
            failure_of([&] { (void)locks.inspect("held"); }),
            failure_of([&] { (void)locks.list(); }),
            failure_of([&] { (void)locks.force_release("stock"); }),
            failure_of([&] { (void)held.renew(); })};
  }
  /// Of another type it is by the claim of a list that takes in the answer behind it.
  static bool is_known(std::error_code code) {
    return !code || code == errc::wrong_type || code == errc::unavailable || code == errc::corrupt_store ||
           code == errc::unknown_outcome || code == errc::timeout || code == errc::lost;
  }
  /// The same client goes on as if nothing had been, and nobody holds what nobody has.
  void expect_recovery(client& locks, lease& held, const std::string& after) {
    line_.heal();
    auto answer = held.renew();
    while (answer == renewal::unknown) answer = held.renew();  // not connected again yet
    EXPECT_EQ(answer, renewal::renewed) << after;
    auto again = mutex{locks, "stock", lock_options{}}.try_acquire_for(60s);
    ASSERT_TRUE(again) << after;
    EXPECT_FALSE(again->release()) << after;
    EXPECT_FALSE(held.release()) << after;
  }

  test::redis_server server_;
  fault_proxy line_{server_.port()};
  std::atomic<int> forged_{0};
};

/// The hold is a reader's by then, or still a writer's: nobody knows. Its verb is what it was.
TEST_F(redis_forgeries, of_the_answer_to_a_downgrade_leave_a_hold_that_can_be_unlocked) {
  client locks{url()};
  shared_mutex lock{locks, "stock", lock_options{}.ttl(60s)};
  lock.lock();
  forge([](std::string_view answer) {
    return answer.starts_with("-NOSCRIPT") ? std::string{answer} : std::string{"+what?\r\n"};
  });
  EXPECT_EQ(failure_of([&] { lock.unlock_and_lock_shared(); }).code, errc::unknown_outcome);
  line_.heal();
  lock.unlock();
  await([&] { return locks.inspect("stock").value_or(lock_state{}).holders.empty(); }, "it is held for ever");
}

struct placed {
  const char* name;
  std::string (*put)(std::string_view answer, const std::string& bytes);
};

class redis_forgeries_placed : public redis_forgeries, public testing::WithParamInterface<placed> {};

TEST_P(redis_forgeries_placed, end_in_errors_and_are_forgotten) {
  for (const auto& bytes : some_hostile_bytes()) {
    const auto input = testing::PrintToString(bytes.substr(0, 60));
    client locks = open();
    auto held = mutex{locks, "held", lock_options{}}.acquire();
    forged_ = 0;
    forge([bytes](std::string_view answer) { return GetParam().put(answer, bytes); });
    const auto before = boot_clock::now();
    for (const auto& each : ask_for_all(locks, held)) {
      EXPECT_TRUE(is_known(each.code)) << input << ": " << each.text;
    }
    EXPECT_LT(boot_clock::now() - before, 60s) << input;
    EXPECT_GT(forged_, 0) << input;
    expect_recovery(locks, held, input);
  }
}

INSTANTIATE_TEST_SUITE_P(
    , redis_forgeries_placed,
    testing::Values(placed{"in_place", [](std::string_view, const std::string& bytes) { return bytes; }},
                    placed{"within",
                           [](std::string_view answer, const std::string& bytes) {
                             const auto half = answer.size() / 2;
                             return std::string{answer.substr(0, half)} + bytes +
                                    std::string{answer.substr(half)};
                           }},
                    placed{"before", [](std::string_view answer,
                                        const std::string& bytes) { return bytes + std::string{answer}; }},
                    placed{"behind", [](std::string_view answer,
                                        const std::string& bytes) { return std::string{answer} + bytes; }}),
    [](const auto& info) { return info.param.name; });

TEST_F(redis_forgeries, of_grants_are_not_made_by_noise) {
  int round = 0;
  for (const auto& bytes : some_hostile_bytes()) {
    client locks = open();
    mutex lock{locks, "stock " + std::to_string(++round)};
    EXPECT_FALSE(mutex(locks, lock.name(), lock_options{}).acquire().release());
    forge([bytes](std::string_view) { return bytes; });
    const auto failed = failure_of([&] { lock.lock(); });
    EXPECT_TRUE(failed.code && is_known(failed.code))
        << testing::PrintToString(bytes.substr(0, 60)) << failed.text;
    line_.heal();
  }
}

TEST_F(redis_forgeries, of_notifications_change_nothing) {
  client locks{url()};
  auto held = mutex{locks, "held"}.acquire();
  std::vector<std::string> notifications{"", "granted", "granted x 1", "revoked",
                                         "look " + std::string(32, '0') + " 1"};
  for (const char* message : {"granted ", "revoked ", "look "}) {
    notifications.push_back(message + std::string(32, 'f') + " 18446744073709551615");
    // Who knows the owner's id can end the hold. That is all.
    const std::string owner = server_.ask({"GET", "holdfast:held"}).substr(21, 32);
    if (std::string{message} != "revoked ") notifications.push_back(message + owner + " 1");
    notifications.push_back(message + owner + " 99999999999999999999");
  }
  std::vector<std::string> pushes{">0\r\n",
                                  ">1\r\n_\r\n",
                                  ">2\r\n+invalidate\r\n_\r\n",
                                  ">2\r\n+invalidate\r\n*2\r\n_\r\n*-1\r\n",
                                  ">2\r\n+invalidate\r\n:7\r\n",
                                  ">3\r\n*0\r\n*0\r\n*0\r\n",
                                  ">3\r\n+message\r\n:1\r\n*1\r\n+x\r\n",
                                  "|1\r\n+key\r\n+value\r\n",
                                  "|0\r\n"};
  for (const auto& each : notifications)
    pushes.push_back(">3\r\n" + bulk("message") + bulk("holdfast:client:x") + bulk(each));
  const auto watched = locks.watch([] {});
  mutex other{locks, "stock"};
  for (const auto& push : pushes) {
    forge([push](std::string_view answer) { return push + std::string{answer}; });
    EXPECT_FALSE(other.acquire().release()) << testing::PrintToString(push);
    EXPECT_EQ(held.renew(), renewal::renewed) << testing::PrintToString(push);
    EXPECT_EQ(locks.inspect("held").value_or(lock_state{}).holders.size(), 1U);
  }
  EXPECT_TRUE(held.held());
  EXPECT_EQ(line_.taken(), 1U) << "it was no reason to connect again";
}

/// Well-formed, and a lie.
std::vector<std::string> lies() {
  const std::string most = ":9223372036854775807\r\n";
  const std::string least = ":-9223372036854775808\r\n";
  const std::string token = bulk("00000000000000000007");
  std::vector<std::string> all{"*1\r\n:2\r\n",
                               "*2\r\n:3\r\n" + most,
                               "*2\r\n:3\r\n" + least,
                               "*1\r\n:3\r\n",
                               "*1\r\n*1\r\n*1\r\n:0\r\n",
                               bulk("1"),
                               bulk("2222"),
                               bulk(""),
                               bulk("18446744073709551616"),
                               most,
                               least,
                               ":0\r\n",
                               "_\r\n",
                               "*0\r\n",
                               "*2\r\n" + bulk("0") + "*0\r\n",
                               "*2\r\n" + bulk("0") + "*2\r\n_\r\n*0\r\n",
                               "-NOSCRIPT no\r\n",
                               "-NOSCRIPT\r\n",
                               "-WRONGTYPE\r\n",
                               "-MOVED 1 127.0.0.1:1\r\n"};
  for (const auto& left : {most, least, std::string{":0\r\n"}}) {
    all.push_back("*5\r\n:0\r\n" + token + ":1\r\n" + left + ":0\r\n");
    all.push_back("*5\r\n:0\r\n" + token + ":0\r\n" + left + ":1\r\n");
  }
  const std::string id(32, 'a');
  const std::string claim =
      "00000000000000000007 " + id + " 9223372036854775807 0 9223372036854775807 9223372036854775807 1 {";
  for (const char* now : {"0", "9223372036854775807", "-9223372036854775808", "1e9", ""}) {
    for (const auto& left : {most, least}) {
      const auto set = "*4\r\n" + bulk("end " + id) + left + bulk(claim) + left;
      all.push_back("*6\r\n" + bulk(now) + bulk("7") + bulk("x") + left + set + set);
    }
  }
  return all;
}

TEST_F(redis_forgeries, that_are_well_formed_end_too) {
  for (const auto& lie : lies()) {
    const auto input = testing::PrintToString(lie);
    client locks = open();
    auto held = mutex{locks, "held", lock_options{}}.acquire();
    forge([lie](std::string_view) { return lie; });
    mutex waits{locks, "stock", brief()};
    const auto before = boot_clock::now();
    failure_of([&] { waits.lock(); });
    (void)ask_for_all(locks, held);
    EXPECT_LT(boot_clock::now() - before, 60s) << input;
    line_.heal();
    EXPECT_TRUE(mutex(locks, "free", lock_options{}).try_lock_for(60s)) << input;
  }
}

TEST_F(redis_forgeries, of_a_listing_without_end_are_given_up) {
  client locks = open();
  for (const auto& keys : {std::string{"*0\r\n"}, "*1\r\n" + bulk("{holdfast:stock}\x1f"
                                                                  "fence")}) {
    forge([keys](std::string_view) { return "*2\r\n" + bulk("7") + keys; });
    const auto failed = failure_of([&] { (void)locks.list(); });
    EXPECT_EQ(failed.code, errc::unavailable) << failed.text;
    line_.heal();
    EXPECT_TRUE(mutex(locks, "stock", lock_options{}).try_acquire_for(60s));
  }
}

TEST_F(redis_forgeries, of_a_listing_without_end_are_asked_for_no_longer_than_somebody_waits) {
  client locks = open();
  // One that is answered, and so is whatever was under way before it. The patience here is brief.
  const auto ask = [&] {
    await([&] { return !failure_of([&] { (void)locks.inspect("stock"); }).code; }, "it is not answered");
  };
  ask();
  const auto scans = std::make_shared<std::atomic<int>>(0);
  // Other answers may arrive with that of a SCAN. They stay: each request has an answer of its own.
  line_.forge([scans](std::string_view, std::string_view answer) {
    constexpr std::string_view no_keys{"*2\r\n$1\r\n0\r\n*0\r\n"};
    std::string said{answer};
    for (auto at = said.find(no_keys); at != std::string::npos; at = said.find(no_keys, at + 1)) {
      ++*scans;
      said.replace(at, no_keys.size(), "*2\r\n$1\r\n7\r\n*0\r\n");
    }
    return said;
  });
  EXPECT_EQ(failure_of([&] { (void)locks.list(); }).code, errc::unavailable);
  EXPECT_GT(scans->load(), 0);
  ask();
  const int before = scans->load();
  for (int i = 0; i < 20; ++i) ask();
  EXPECT_EQ(scans->load(), before);
}

TEST_F(redis_forgeries, of_single_bytes_never_stop_contending_clients_for_good) {
  // The line goes on for a moment when the test is over.
  const auto chance = std::make_shared<std::pair<std::mutex, std::mt19937>>();
  chance->second.seed(20261121);
  line_.forge([chance](std::string_view, std::string_view answer) {
    const std::lock_guard hold{chance->first};
    std::mt19937& random = chance->second;
    std::string said{answer};
    if (random() % 4 != 0) return said;
    const auto at = random() % said.size();
    switch (random() % 4) {
      case 0: said[at] = static_cast<char>(random()); break;
      case 1: said.erase(at, 1 + random() % 8); break;
      case 2: said.insert(at, 1 + random() % 8, "$*:\r\n-0"[random() % 7]); break;
      default: said.resize(at);
    }
    return said;
  });
  std::vector<std::thread> clients;
  for (int each = 0; each < 3; ++each) {
    clients.emplace_back([&] {
      client locks = open();
      shared_mutex lock{locks, "stock", brief()};
      for (int turn = 0; turn < 100; ++turn) {
        failure_of([&] { (void)lock.acquire().release(); });
        failure_of([&] { (void)lock.acquire_shared().renew(); });
        if (turn % 10 == 0) failure_of([&] { (void)locks.list(); });
        failure_of([&] { (void)locks.inspect("stock"); });
      }
    });
  }
  for (auto& each : clients) each.join();
  line_.heal();
  client locks{url()};
  EXPECT_TRUE(mutex(locks, "stock").try_acquire_for(60s));
  await([&] { return locks.list().empty(); }, "something is left behind");
}

}  // namespace
}  // namespace holdfast::faults
