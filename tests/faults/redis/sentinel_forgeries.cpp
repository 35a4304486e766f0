// SPDX-License-Identifier: Apache-2.0
// Sentinels that lie, and notifications that others forge: they cost time at worst. A client connects to a
// primary only, and a notification makes it ask.

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "faults/hostile_bytes.hpp"
#include "faults/redis/bulk.hpp"
#include "faults/redis/sentinel.hpp"
#include "support/canned_server.hpp"
#include "support/fault_proxy.hpp"

namespace holdfast::faults {
namespace {

using test::canned_server;
using test::fault_proxy;

/// What a Sentinel answers to the greeting and to the question.
std::string answer_of_sentinel(const std::string& host, const std::string& port) {
  return "%2\r\n" + bulk("server") + bulk("redis") + bulk("mode") + bulk("sentinel") + "*2\r\n" + bulk(host) +
         bulk(port);
}

class redis_sentinel_forgeries : public on_sentinels {
 protected:
  /// The liar is asked first, and again with each connection.
  void expect_to_lock_beside(std::uint16_t liar, const std::string& name) {
    auto ports = group_.sentinel_ports();
    ports.insert(ports.begin(), liar);
    client locks{group_.url_at(ports, "?connect_timeout=8s"), client_options{}.locks(patient())};
    auto held = mutex{locks, "stock"}.try_acquire();
    ASSERT_TRUE(held) << name;
    EXPECT_EQ(renew(*held), renewal::renewed) << name;
    EXPECT_FALSE(held->release()) << name;
  }
  [[nodiscard]] std::string port_of_replica() {
    return std::to_string(group_.port((group_.primary_index() + 1) % 3));
  }
};

TEST_F(redis_sentinel_forgeries, that_are_no_address_cost_a_question) {
  const std::vector<std::string> answers{
      answer_of_sentinel("127.0.0.1", "1"),
      answer_of_sentinel("127.0.0.1", port_of_replica()),
      answer_of_sentinel("127.0.0.1", std::to_string(group_.sentinel_ports()[0])),
      answer_of_sentinel("127.0.0.1", "999999"),
      answer_of_sentinel("no such host", "6379"),
      answer_of_sentinel("nowhere.invalid", "6379"),
      answer_of_sentinel("", ""),
      answer_of_sentinel(std::string(100'000, 'a'), "6379"),
      "%1\r\n" + bulk("mode") + bulk("sentinel") + "_\r\n" + "*1\r\n%1\r\n" + bulk("name") + bulk("other"),
      "%1\r\n" + bulk("mode") + bulk("sentinel") + "-ERR no\r\n",
      "%1\r\n" + bulk("mode") + bulk("sentinel") + "*1000000000\r\n",
      "%1\r\n" + bulk("mode") + bulk("standalone") + "*2\r\n" + bulk("127.0.0.1") + bulk("1"),
      "-ERR unknown command\r\n-ERR unknown command\r\n",
      "HTTP/1.1 400 Bad Request\r\n\r\n",
      "",
  };
  for (const std::string& each : answers) {
    const canned_server liar{each};
    expect_to_lock_beside(liar.port(), each.substr(0, 200));
    EXPECT_GE(liar.connections(), 1) << "it was not asked";
  }
}

TEST_F(redis_sentinel_forgeries, of_the_role_are_seen_through_at_the_server) {
  // Greets as a server does, but does not say that it is a primary, and asked for that says nothing sensible.
  const canned_server roleless{"%1\r\n" + bulk("mode") + bulk("standalone")};
  const canned_server liar{answer_of_sentinel("127.0.0.1", std::to_string(roleless.port()))};
  expect_to_lock_beside(liar.port(), "roleless");
  EXPECT_GE(roleless.connections(), 1);
}

TEST_F(redis_sentinel_forgeries, of_any_bytes_are_survived) {
  for (const auto& bytes : hostile_bytes()) {
    const canned_server liar{bytes, canned_server::then::close};
    expect_to_lock_beside(liar.port(), "hostile bytes");
  }
}

// The whole time it says that a replica is the primary, to its subscribers, too.
TEST_F(redis_sentinel_forgeries, of_a_sentinel_that_names_a_replica_do_not_keep_a_client_from_the_primary) {
  fault_proxy liar{group_.sentinel_ports()[0]};
  const std::string from = bulk(std::to_string(group_.port(group_.primary_index())));
  const std::string to = bulk(port_of_replica());
  liar.forge([from, to](std::string_view /*request*/, std::string_view answer) {
    std::string forged{answer};
    if (const auto at = forged.find(from); at != std::string::npos) forged.replace(at, from.size(), to);
    return forged;
  });
  auto ports = group_.sentinel_ports();
  ports[0] = liar.port();
  client locks{group_.url_at(ports)};
  auto held = mutex{locks, "stock", lasting()}.acquire();
  await([&] { return subscribers(group_.sentinel(1)) + subscribers(group_.sentinel(2)) == 1; },
        "it stays subscribed to the liar");
  const auto before = introductions(group_.primary());
  EXPECT_LE(before, 4) << "connections that the lies have cost";
  group_.replicate();
  group_.fail_over();
  group_.await_clients(1);
  expect_known(held);
}

class redis_forged_switches : public redis_sentinel_forgeries {
 protected:
  redis_forged_switches() {
    const std::string address = bulk(std::to_string(group_.port(group_.primary_index())));
    for (const std::uint16_t port : group_.sentinel_ports()) {
      lines_.push_back(std::make_unique<fault_proxy>(port));
      ports_.push_back(lines_.back()->port());
      // With each address comes what makes a client ask again.
      lines_.back()->forge([this, address](std::string_view /*request*/, std::string_view answer) {
        std::string all{answer};
        if (all.find(address) == std::string::npos) return all;
        ++questions_;
        for (int i = 0; i < 100; ++i) {
          all +=
              ">3\r\n" + bulk("message") + bulk("+switch-master") + bulk("mymaster 127.0.0.1 1 127.0.0.1 2");
        }
        return all;
      });
    }
  }

  std::atomic<int> questions_ = 0;
  std::vector<std::uint16_t> ports_;
  std::vector<std::unique_ptr<fault_proxy>> lines_;
};

TEST_F(redis_forged_switches, end_no_lease_and_cost_few_questions) {
  client locks{group_.url_at(ports_)};
  auto held = mutex{locks, "stock", lasting()}.acquire();
  const auto connections = introductions(group_.primary());
  const auto begin = boot_clock::now();
  await([&] { return questions_ >= 24; }, "nobody asks");
  EXPECT_GT(boot_clock::now() - begin, 2s) << "questions are not bounded by time";
  EXPECT_EQ(renew(held), renewal::renewed);
  EXPECT_EQ(introductions(group_.primary()), connections) << "it has hung up on the primary";
  EXPECT_FALSE(held.release());
}

}  // namespace
}  // namespace holdfast::faults
