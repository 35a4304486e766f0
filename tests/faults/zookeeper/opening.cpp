// SPDX-License-Identifier: Apache-2.0
// Opening where no ZooKeeper is, and closing in every state.

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <netinet/in.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

#include "faults/zookeeper/on_zookeeper.hpp"
#include "support/canned_server.hpp"
#include "support/fault_proxy.hpp"
#include "support/reserved_port.hpp"

namespace holdfast::faults {
namespace {

/// Far more than any of the limits below, far less than a hang.
constexpr auto soon = 20s;

/// How it fails, and that it does so soon.
failing fail_soon(const std::string& url, const retry_policy& retry = hasty().retry()) {
  const test::stall_meter meter;
  const auto began = boot_clock::now();
  client locks{url};
  auto failed = failure_of([&] { mutex{locks, "stock", lock_options{}.retry(retry)}.lock(); });
  locks.close();
  EXPECT_LT(boot_clock::now() - began, meter.stretched(soon, began));
  return failed;
}

std::string at(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

TEST(zookeeper_opening, where_nobody_listens_names_the_servers) {
  const test::reserved_port first;
  const test::reserved_port second;
  const auto one = at(first.number());
  const auto two = at(second.number());
  const auto failed = fail_soon("zk://" + one + ',' + two + "?connect_timeout=5s");
  EXPECT_EQ(failed.code, errc::unavailable) << failed.text;
  EXPECT_THAT(failed.text, testing::HasSubstr(one));
  EXPECT_THAT(failed.text, testing::HasSubstr(two));
}

TEST(zookeeper_opening, with_a_name_that_nobody_has_says_so) {
  // A lock that gives up before the lookup does would not know the reason.
  const auto failed = fail_soon("zk://nowhere.invalid:2181?connect_timeout=2s", retry_policy{}.limit(10s));
  EXPECT_EQ(failed.code, errc::unavailable) << failed.text;
  EXPECT_THAT(failed.text, testing::HasSubstr("nowhere.invalid"));
}

TEST(zookeeper_opening, passes_by_names_and_servers_that_are_not_there) {
  const zookeeper_server server;
  const test::reserved_port nobodys;
  client locks{"zk://nowhere.invalid:2181," + at(nobodys.number()) + ',' + server.address()};
  EXPECT_TRUE(mutex(locks, "stock").try_lock_for(60s));
}

/// A port whose connections nobody takes: what comes is left without an answer, as by a host that is off.
class unattended_port {
 public:
  unattended_port() {
    ::sockaddr_in address{
        .sin_family = AF_INET, .sin_port = 0, .sin_addr = {::htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
    ::socklen_t size = sizeof address;
    auto* const at = reinterpret_cast<::sockaddr*>(&address);
    if (::bind(listener_, at, size) != 0 || ::listen(listener_, 0) != 0 ||
        ::getsockname(listener_, at, &size) != 0)
      throw std::system_error{errno, std::generic_category(), "no port"};
    port_ = ::ntohs(address.sin_port);
    for (const int one : in_its_queue_) ::connect(one, at, size);
  }
  ~unattended_port() {
    for (const int one : in_its_queue_) ::close(one);
    ::close(listener_);
  }
  unattended_port(const unattended_port&) = delete;
  unattended_port& operator=(const unattended_port&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  static int open(int flags) { return ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0); }

  int listener_ = open(0);
  std::array<int, 2> in_its_queue_{open(SOCK_NONBLOCK), open(SOCK_NONBLOCK)};
  std::uint16_t port_ = 0;
};

/// One server that serves, of two, three or four in all.
class zookeeper_silence : public testing::TestWithParam<int> {
 protected:
  /// Several clients, each of which begins with a server by chance, take a lock each.
  void open_clients() {
    for (int each = 0; each < clients; ++each) {
      clients_.push_back(std::async(std::launch::async, [url = url(), each] {
        client locks{url};
        return mutex{locks, "stock " + std::to_string(each), endless()}.acquire().held();
      }));
    }
  }
  /// Earlier than after two thirds of a session, for which Apache's client waits. Those are longer than the
  /// limit of the test.
  void expect_that_they_are_served() {
    for (auto& each : clients_) EXPECT_TRUE(each.get());
  }

  static constexpr int clients = 8;
  zookeeper_server server_;
  test::canned_server mute_{""};

 private:
  [[nodiscard]] std::string url() const {
    std::string all = "zk://" + at(mute_.port());
    if (GetParam() > 2) all += ',' + at(off_.port());
    if (GetParam() > 3) all += ',' + at(off_too_.port());
    return all + ',' + server_.address() + "?session_timeout=10min&connect_timeout=3s";
  }

  unattended_port off_;
  unattended_port off_too_;
  std::vector<std::future<bool>> clients_;
};

TEST_P(zookeeper_silence, of_other_servers_keeps_nobody_from_one_that_serves) {
  open_clients();
  expect_that_they_are_served();
}

TEST_P(zookeeper_silence, of_other_servers_keeps_nobody_from_one_that_comes_later) {
  server_.kill();
  open_clients();
  await([&] { return mute_.connections() >= 2 * clients; }, "they do not come back to a server");
  server_.start();
  expect_that_they_are_served();
}

INSTANTIATE_TEST_SUITE_P(of, zookeeper_silence, testing::Values(2, 3, 4));

TEST(zookeeper_opening, where_something_else_answers_fails) {
  const std::string page =
      "HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\n\r\n" + std::string(4000, 'x');
  using then = test::canned_server::then;
  for (const std::string& bytes : {page, page.substr(0, 20), std::string(4000, '\0'),
                                   std::string(4000, '\xff'), std::string{"-ERR unknown command\r\n"}}) {
    for (const auto afterwards : {then::stay, then::close}) {
      const test::canned_server other{bytes, afterwards};
      const auto failed = fail_soon("zk://" + at(other.port()) + "?connect_timeout=300ms&session_timeout=1s",
                                    retry_policy{}.limit(1s).longest(50ms));
      EXPECT_TRUE(failed.code == errc::unavailable || failed.code == errc::unknown_outcome ||
                  failed.code == errc::lost)
          << failed.text << " of " << bytes.substr(0, 20);
    }
  }
}

/// Another length of the session in the reply that begins it; other replies as they are.
std::string with_length(std::string_view answer, std::int32_t milliseconds) {
  constexpr std::string_view size{"\0\0\0\x25", 4};  // of that reply; the protocol's version follows
  constexpr std::size_t length_at = 8;
  std::string forged{answer};
  if (!answer.starts_with(size)) return forged;
  for (std::size_t i = 0; i < 4; ++i) {
    forged[length_at + i] =
        static_cast<char>(static_cast<std::uint32_t>(milliseconds) >> (24 - 8 * i) & 0xFFU);
  }
  return forged;
}

// Beats without a pause between them would hold up every thread of the client.
TEST(zookeeper_opening, where_a_session_has_no_length_fails_and_can_be_ended) {
  const zookeeper_server server;
  for (const std::int32_t length : {0, -1, 99}) {
    test::fault_proxy line{server.port()};
    line.forge([length](std::string_view, std::string_view answer) { return with_length(answer, length); });
    client locks{"zk://" + at(line.port()) + "?connect_timeout=1s&session_timeout=10s"};
    const std::string reason = "a session of " + std::to_string(length) + " ms";
    await(
        [&] {
          const auto failed = failure_of([&] { mutex{locks, "stock", hasty()}.lock(); });
          return failed.code == errc::unavailable && failed.text.find(reason) != std::string::npos;
        },
        "it does not name the session");
    EXPECT_LT(line.taken(), 1000U) << "without a pause";
    line.heal();
    EXPECT_TRUE(mutex(locks, "stock").try_acquire_for(60s));
  }
}

// Apache's client would pause for a sixtieth of the session's timeout: for 24 minutes.
TEST(zookeeper_opening, finds_a_server_that_comes_later) {
  zookeeper_server server;
  server.kill();
  client locks{server.url("?connect_timeout=300ms&session_timeout=24h")};
  EXPECT_EQ(known_failure_of([&] { mutex{locks, "stock", hasty()}.lock(); }).code, errc::unavailable);
  auto waiter = std::async(std::launch::async, [&] {
    return mutex{locks, "stock", lock_options{}.retry(retry_policy{}.limit(3min))}.acquire();
  });
  server.start();
  EXPECT_TRUE(waiter.get().held());
}

class zookeeper_closing : public on_zookeeper {};

TEST_F(zookeeper_closing, ends_the_session_and_what_it_held) {
  client locks{server_.url("?session_timeout=60s")};
  auto held = mutex{locks, "stock"}.acquire();
  client others{server_.url("?session_timeout=60s")};
  auto next = std::async(std::launch::async, [&] { return mutex{others, "stock"}.acquire(); });
  expect_contenders(2);
  locks.close();
  EXPECT_FALSE(held.held());
  EXPECT_TRUE(next.get().held());
}

TEST_F(zookeeper_closing, waits_for_a_server_that_stands_still_no_longer_than_it_may) {
  const test::stall_meter meter;
  for (const bool holding : {false, true}) {
    auto locks =
        std::make_unique<client>(server_.url("?session_timeout=4s"), client_options{}.flush_limit(100ms));
    mutex(*locks, "other").acquire().release();
    lease held;
    if (holding) held = mutex{*locks, "stock"}.acquire();
    server_.stop();
    const auto began = boot_clock::now();
    locks.reset();
    EXPECT_LT(boot_clock::now() - began, meter.stretched(soon, began)) << holding;
    EXPECT_FALSE(held.held());
    server_.go_on();
    expect_contenders(0);
  }
}

TEST_F(zookeeper_closing, while_a_claim_is_under_way_leaves_no_node) {
  client locks{server_.url("?session_timeout=20s"), client_options{}.flush_limit(100ms)};
  mutex(locks, "other").acquire().release();
  await([&] { return console_.children("/other").empty(); }, "the unlock does not come");
  console_.create("/stock");
  server_.stop();
  auto waiter = std::async(std::launch::async, [&] {
    return failure_of([&] { mutex{locks, "stock", lock_options{}.retry(retry_policy{}.limit(60s))}.lock(); });
  });
  EXPECT_EQ(waiter.wait_for(100ms), std::future_status::timeout);
  locks.close();
  EXPECT_EQ(waiter.get().code, errc::closed);
  server_.go_on();
  // What it has sent is carried out before what is asked now.
  (void)zookeeper_console{server_.port()}.children("/stock");
  expect_contenders(0);
  client others{server_.url("?session_timeout=20s")};
  EXPECT_TRUE(mutex(others, "stock").try_lock_for(10s));
}

TEST_F(zookeeper_closing, while_it_connects_or_others_wait_is_soon_done) {
  server_.stop();
  const test::stall_meter meter;
  const auto began = boot_clock::now();
  for (int times = 0; times < 5; ++times) {
    client locks{server_.url("?connect_timeout=60s"), client_options{}.flush_limit(100ms)};
    auto waiter = std::async(std::launch::async, [&] {
      return failure_of(
          [&] { mutex{locks, "stock", lock_options{}.retry(retry_policy{}.limit(60s))}.lock(); });
    });
    EXPECT_EQ(waiter.wait_for(1ms), std::future_status::timeout);
    locks.close();
    EXPECT_EQ(waiter.get().code, errc::closed);
  }
  EXPECT_LT(boot_clock::now() - began, meter.stretched(soon, began));
  server_.go_on();
}

TEST_F(zookeeper_closing, while_a_name_is_looked_up_is_soon_done) {
  const test::stall_meter meter;
  const auto began = boot_clock::now();
  for (int times = 0; times < 5; ++times) client{"zk://nowhere.invalid:2181"}.close();
  EXPECT_LT(boot_clock::now() - began, meter.stretched(soon, began));
}

}  // namespace
}  // namespace holdfast::faults
