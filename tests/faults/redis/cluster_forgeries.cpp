// SPDX-License-Identifier: Apache-2.0
// Nodes of a Redis Cluster that lie about its slots. Every call ends within its limits, with an error that
// says what is wrong, and the client goes on when it is over.

#include <atomic>
#include <future>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "faults/hostile_bytes.hpp"
#include "faults/redis/bulk.hpp"
#include "faults/redis/cluster.hpp"
#include "support/fake_redis.hpp"
#include "support/reserved_port.hpp"

namespace holdfast::faults {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

/// A range of slots, as CLUSTER SLOTS lists it.
std::string range(std::int64_t first, std::int64_t last, const std::string& host, std::int64_t port) {
  return "*3\r\n:" + std::to_string(first) + "\r\n:" + std::to_string(last) + "\r\n*3\r\n" + host + ":" +
         std::to_string(port) + "\r\n" + bulk("id");
}

/// A liar, which says that it has all slots. When it stops lying, it says that a real server has them.
class redis_cluster_forgeries : public on_cluster {
 protected:
  redis_cluster_forgeries()
      : on_cluster{{.shards = 1, .replicas = 0, .node_timeout = std::chrono::minutes{10}}} {}

  [[nodiscard]] std::string url(const std::string& rest = "?answer_timeout=2s") const {
    return nodes_.url_at({liar_.port()}, rest);
  }
  static std::string whole_map(std::uint16_t port) {
    return "*1\r\n" + range(0, 16383, bulk("127.0.0.1"), port);
  }
  /// \param of_map the reply to CLUSTER SLOTS; empty: the liar has all slots.
  /// \param of_script the reply to all else.
  void forge(const std::string& of_map, const std::string& of_script) {
    liar_.answer_with([this, map = of_map.empty() ? whole_map(liar_.port()) : of_map,
                       of_script](const std::vector<std::string>& command) {
      const bool is_question = command.at(0) == "CLUSTER";
      ++(is_question ? questions_ : scripts_);
      return is_question ? map : of_script;
    });
  }
  /// It refuses what it is asked, and says which server to ask.
  void stop_lying() {
    const std::uint16_t there = nodes_.port(0);
    forge(whole_map(there),
          "-MOVED " + std::to_string(slot_of("stock")) + " 127.0.0.1:" + std::to_string(there) + "\r\n");
  }
  failing refusal() {
    return known_failure_of([&] {
      client locks{url(), client_options{}.flush_limit(0ms)};
      mutex{locks, "stock", hasty()}.lock();
    });
  }
  /// The same client goes on, once nobody lies any more, and the last lie has been read: a question may still
  /// be under way whose caller has given up.
  void expect_recovery(client& locks, const std::string& after) {
    stop_lying();
    await([&] { return !failure_of([&] { (void)locks.inspect("stock"); }).code; }, "it does not recover");
    auto held = mutex{locks, "stock", patient()}.try_acquire_for(60s);
    ASSERT_TRUE(held) << after;
    EXPECT_EQ(renew(*held), renewal::renewed) << after;
    EXPECT_FALSE(held->release()) << after;
  }
  static lock_options brief() { return lock_options{}.retry(retry_policy{}.limit(100ms).longest(20ms)); }
  /// Each kind of call fails within its patience, or does what was asked.
  void expect_limits(const std::string& lie) {
    client locks{url(), client_options{}.flush_limit(0ms).locks(brief())};
    for (const auto& each :
         {failure_of([&] { (void)mutex{locks, "stock"}.try_lock(); }),
          failure_of([&] { (void)locks.inspect("stock"); }), failure_of([&] { (void)locks.list(); }),
          failure_of([&] { (void)locks.force_release("stock"); })}) {
      EXPECT_TRUE(!each.code || each.code == errc::unavailable || each.code == errc::corrupt_store ||
                  each.code == errc::unknown_outcome || each.code == errc::timeout)
          << lie << ": " << each.text;
    }
    expect_recovery(locks, lie);
  }

  test::fake_redis liar_;
  std::atomic<int> questions_ = 0;
  std::atomic<int> scripts_ = 0;
};

TEST_F(redis_cluster_forgeries, of_a_server_that_sends_everybody_to_itself_end_in_errors) {
  for (const char* word : {"MOVED ", "ASK "}) {
    const int slot = slot_of("stock");
    forge({}, "-" + std::string{word} + std::to_string(slot) + " 127.0.0.1:" + std::to_string(liar_.port()) +
                  "\r\n");
    scripts_ = questions_ = 0;
    const auto refused = refusal();
    EXPECT_EQ(refused.code, errc::unavailable);
    EXPECT_THAT(refused.text, HasSubstr(word));
    // Pauses grow: three seconds are no thousands of requests.
    EXPECT_LT(scripts_, 2000) << word;
    EXPECT_LT(questions_, 200) << word;
    forge({}, "-" + std::string{word} + std::to_string(slot) + " :" + std::to_string(liar_.port()) + "\r\n");
    expect_limits(word);
  }
}

TEST_F(redis_cluster_forgeries, that_lead_to_a_port_where_nobody_listens_end_in_errors) {
  const test::reserved_port gone;
  const std::string there = "127.0.0.1:" + std::to_string(gone.number());
  for (const char* word : {"MOVED ", "ASK "}) {
    forge({}, "-" + std::string{word} + std::to_string(slot_of("stock")) + ' ' + there + "\r\n");
    const auto refused = refusal();
    EXPECT_EQ(refused.code, errc::unavailable);
    EXPECT_THAT(refused.text, AnyOf(HasSubstr(there + ": cannot connect"), HasSubstr(word)));
    expect_limits(word);
  }
}

TEST_F(redis_cluster_forgeries, of_redirections_that_are_none_end_in_errors) {
  for (const std::string error :
       {"MOVED", "MOVED ", "MOVED x", "MOVED 1", "MOVED 99999 a:1", "MOVED -1 127.0.0.1:1",
        "MOVED 1 127.0.0.1", "MOVED 1 127.0.0.1:0", "MOVED 1 127.0.0.1:65536", "MOVED 1 no such host:1",
        "MOVED 1 a/b:1", "MOVED 1:1", "MOVED 18446744073709551617 127.0.0.1:1", "ASK x",
        "ASK 1 :", "ASK 99999 a:1", "ASK", "TRYAGAIN Multiple keys request during rehashing of slot",
        "CLUSTERDOWN The cluster is down"}) {
    forge({}, "-" + error + "\r\n");
    expect_limits(error);
  }
}

TEST_F(redis_cluster_forgeries, of_the_list_of_slots_end_in_errors) {
  const std::string here = bulk("127.0.0.1");
  const std::int64_t port = liar_.port();
  std::string many = "*100000\r\n";
  for (int i = 0; i < 100'000; ++i)
    many += range(i % 16384, i % 16384, bulk("host" + std::to_string(i) + ".invalid"), 1 + i % 65535);
  for (const std::string& map : {
           std::string{"+OK\r\n"},
           std::string{":1\r\n"},
           std::string{"_\r\n"},
           std::string{"*0\r\n"},
           std::string{"*1\r\n:1\r\n"},
           std::string{"*1\r\n*0\r\n"},
           std::string{"*1\r\n*2\r\n:0\r\n:16383\r\n"},
           std::string{"*1\r\n*3\r\n:0\r\n:16383\r\n:1\r\n"},
           std::string{"*1\r\n*3\r\n:0\r\n:16383\r\n*0\r\n"},
           std::string{"-ERR This instance has cluster support disabled\r\n"},
           std::string{"*1\r\n"} + range(-1, 16383, here, port),
           std::string{"*1\r\n"} + range(0, 16384, here, port),
           std::string{"*1\r\n"} + range(16383, 0, here, port),
           std::string{"*1\r\n"} + range(0, 9'223'372'036'854'775'807, here, port),
           std::string{"*1\r\n"} + range(0, 16383, here, 0),
           std::string{"*1\r\n"} + range(0, 16383, here, -1),
           std::string{"*1\r\n"} + range(0, 16383, here, 65'536),
           std::string{"*1\r\n"} + range(0, 16383, "_\r\n", 1),
           std::string{"*1\r\n"} + range(0, 16383, bulk("?"), port),
           std::string{"*1\r\n"} + range(0, 16383, bulk("no such host"), port),
           std::string{"*1\r\n"} + range(0, 16383, bulk(std::string(100'000, 'a')), port),
           std::string{"*1\r\n"} + range(0, 100, here, port),
           std::string{"*2\r\n"} + range(0, 16383, here, 1) + range(0, 16383, here, 2),
           std::string{"*1000000000\r\n"},
           many,
       }) {
    forge(map, "-ERR nothing is here\r\n");
    expect_limits(testing::PrintToString(map.substr(0, 120)));
  }
}

// Null and nothing are the host that was asked.
TEST_F(redis_cluster_forgeries, without_a_host_mean_the_server_that_was_asked) {
  for (const std::string host : {"_\r\n", "$0\r\n\r\n"}) {
    forge("*1\r\n" + range(0, 16383, host, nodes_.port(0)), "-ERR nothing is here\r\n");
    client locks{url()};
    EXPECT_TRUE(mutex(locks, "stock", lasting()).try_lock()) << host;
  }
}

TEST_F(redis_cluster_forgeries, of_any_bytes_are_survived) {
  const auto all = some_hostile_bytes();
  for (std::size_t i = 0; i < all.size(); i += test::amount(2, 1)) {
    const auto& bytes = all[i];
    if (bytes.empty()) continue;  // nothing comes, which is a server that stands still
    forge(bytes, bytes);
    expect_limits(testing::PrintToString(bytes.substr(0, 60)));
  }
}

// The caller's patience ends while the client waits for an answer, for which it would wait for an hour.
TEST_F(redis_cluster_forgeries, that_say_nothing_end_in_an_error) {
  const auto refused = failure_of([&] {
    client locks{url("?answer_timeout=1h&connect_timeout=1h"), client_options{}.flush_limit(0ms)};
    mutex{locks, "stock", hasty()}.lock();
  });
  EXPECT_TRUE(refused.code == errc::unavailable || refused.code == errc::unknown_outcome) << refused.text;
}

// A server refuses a renewal when its hold is over. Carried out elsewhere, it would keep the name for nobody.
TEST_F(redis_cluster_forgeries, lead_no_renewal_elsewhere_after_the_deadline_of_its_hold) {
  using words = std::vector<std::string>;
  constexpr std::size_t of_renewals = 10;  // words: with three arguments
  constexpr std::size_t of_releases = 9;
  const std::string token = "00000000000000000007";
  const int slot = slot_of("stock");
  const std::string elsewhere =
      "-MOVED " + std::to_string(slot) + " 127.0.0.1:" + std::to_string(nodes_.port(0)) + "\r\n";
  // The liar keeps all other slots: a server that has none is left, and what it owes is asked elsewhere.
  const std::string host = bulk("127.0.0.1");
  const std::string map = "*3\r\n" + range(0, slot - 1, host, liar_.port()) +
                          range(slot, slot, host, nodes_.port(0)) +
                          range(slot + 1, 16383, host, liar_.port());
  std::string owner;
  std::atomic<bool> is_granted = false;
  std::atomic<bool> is_released = false;
  liar_.answer_with([&](const words& command) -> std::string {
    if (command.at(0) == "CLUSTER") return is_granted ? map : whole_map(liar_.port());
    if (command.size() == of_renewals) {
      // The hold ends meanwhile, and its release comes here before a map says otherwise. Nobody sees it on
      // its way.
      std::this_thread::sleep_for(6s);
      return elsewhere;
    }
    if (command.size() == of_releases) {
      is_released = true;
      return ":1\r\n";
    }
    if (is_granted) return elsewhere;
    owner = command.at(7);
    is_granted = true;
    return "*5\r\n:1\r\n" + bulk(token) + ":0\r\n:-1\r\n:0\r\n";
  });
  // The real server knows the scripts, so that it would carry out what is led to it.
  client others{nodes_.url()};
  lease other = mutex{others, "page", lasting()}.acquire();
  expect_known(other);
  expect_released(other);
  client locks{url("?answer_timeout=20s"), client_options{}.flush_limit(0ms)};
  const lease held = mutex{locks, "stock", renewed()}.acquire();
  ASSERT_TRUE(held.held());
  constexpr std::int64_t long_ttl = 600'000;
  const std::string hold =
      token + ' ' + owner + " 1 " + owner + " 1073741824 1073741824 " + std::to_string(long_ttl) + " {}";
  ASSERT_EQ(nodes_.node(0).ask({"SET", "holdfast:stock", hold, "PX", std::to_string(long_ttl)}), "OK");
  await([&] { return is_released.load(); }, "what is left of a hold is not ended");
  EXPECT_FALSE(held.held());
  EXPECT_FALSE((mutex{locks, "stock", patient()}.try_lock()))
      << "the real server answers, after all of before";
  EXPECT_GT(std::stoll(nodes_.node(0).ask({"PTTL", "holdfast:stock"})), long_ttl / 2);
}

class redis_cluster_access : public on_cluster {
 protected:
  redis_cluster_access() : on_cluster{primaries()} {}

  void make_user(const std::vector<std::string>& rights) {
    std::vector<std::string> command{"ACL", "SETUSER", "locks", "reset", "on", ">secret"};
    command.insert(command.end(), rights.begin(), rights.end());
    for (std::size_t i = 0; i < 3; ++i) ASSERT_EQ(nodes_.node(i).ask(command), "OK");
  }
  [[nodiscard]] std::string url() const {
    std::string place;
    for (const std::uint16_t port : nodes_.ports())
      place += (place.empty() ? "" : ",") + ("127.0.0.1:" + std::to_string(port));
    return "redis+cluster://locks:secret@" + place + "?failover_guard=0";
  }
};

TEST_F(redis_cluster_access, to_no_channel_is_told) {
  make_user({"~*", "+@all", "resetchannels"});
  const auto refused = failure_of([&] {
    client locks{url()};
    mutex{locks, "stock", hasty()}.lock();
  });
  EXPECT_EQ(refused.code, errc::permission_denied);
  EXPECT_THAT(refused.text, HasSubstr("channel"));
}

// Without its sharded channel a waiter hears nothing, and asks again and again.
TEST_F(redis_cluster_access, without_the_sharded_subscription_waits_longer) {
  make_user({"~*", "+@all", "&*", "-ssubscribe"});
  client locks{url()};
  auto held = mutex{locks, "stock", renewed()}.acquire();
  auto next = std::async(std::launch::async, [&] { return mutex{locks, "stock", renewed()}.acquire(); });
  expect_waiter(locks);
  expect_released(held);
  EXPECT_GT(next.get().token(), held.token());
}

TEST_F(redis_cluster_access, without_the_list_of_slots_is_told) {
  make_user({"~*", "+@all", "&*", "-cluster"});
  const auto refused = failure_of([&] {
    client locks{url()};
    mutex{locks, "stock", hasty()}.lock();
  });
  EXPECT_EQ(refused.code, errc::permission_denied);
  EXPECT_THAT(refused.text, HasSubstr("cluster"));
}

}  // namespace
}  // namespace holdfast::faults
