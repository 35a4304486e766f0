// What the other tests believe of the proxy between them and a server.

#include <future>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "faults/faults.hpp"
#include "support/canned_server.hpp"
#include "support/fault_proxy.hpp"

namespace holdfast::faults {
namespace {

using test::canned_server;
using test::direction;
using test::ending;
using test::fault_proxy;

/// A connection that blocks, for at most a minute.
class proxy_client {
 public:
  explicit proxy_client(std::uint16_t port) : socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    ::timeval limit{60, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = ::htons(port);
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    connected_ = ::connect(socket_, reinterpret_cast<::sockaddr*>(&address), sizeof address) == 0;
  }
  ~proxy_client() { ::close(socket_); }
  proxy_client(const proxy_client&) = delete;
  proxy_client& operator=(const proxy_client&) = delete;

  [[nodiscard]] bool connected() const { return connected_; }
  void say(std::string_view request) { ::send(socket_, request.data(), request.size(), MSG_NOSIGNAL); }
  /// So many bytes; fewer where the connection ended first, and then `error` says how.
  std::string hear(std::size_t count) {
    std::string heard(count, '\0');
    const auto got = ::recv(socket_, heard.data(), count, MSG_WAITALL);
    error = got < 0 ? errno : 0;
    heard.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return heard;
  }
  [[nodiscard]] bool hears_nothing() const {
    ::pollfd readable{socket_, POLLIN, 0};
    return ::poll(&readable, 1, 50) == 0;
  }
  std::string ask(std::string_view request, std::size_t count) {
    say(request);
    return hear(count);
  }

  int error = 0;

 private:
  int socket_;
  bool connected_ = false;
};

class fault_proxy_itself : public testing::Test {
 protected:
  canned_server server_{"0123456789"};
  fault_proxy proxy_{server_.port()};
};

TEST_F(fault_proxy_itself, passes_everything_on) {
  proxy_client one{proxy_.port()};
  proxy_client two{proxy_.port()};
  EXPECT_EQ(one.ask("a", 10), "0123456789");
  EXPECT_EQ(two.ask("bc", 10), "0123456789");
  EXPECT_EQ(one.ask("d", 10), "0123456789");
  EXPECT_EQ(proxy_.taken(), 2U);
  EXPECT_EQ(proxy_.open(), 2U);
  EXPECT_EQ(proxy_.passed(direction::to_server), 4U);
  EXPECT_EQ(proxy_.passed(direction::to_client), 30U);
}

TEST_F(fault_proxy_itself, cuts_in_the_middle_of_an_answer_once) {
  for (const auto end : {ending::finish, ending::reset}) {
    proxy_.interfere(direction::to_client, {.cut_after = 4, .cut_by = end});
    proxy_client one{proxy_.port()};
    EXPECT_EQ(one.ask("a", 4), "0123");
    EXPECT_EQ(one.hear(1), "");
    EXPECT_EQ(one.error, end == ending::finish ? 0 : ECONNRESET);
    EXPECT_EQ(proxy_client{proxy_.port()}.ask("a", 10), "0123456789");
  }
}

TEST_F(fault_proxy_itself, holds_back_what_it_stalls) {
  proxy_client one{proxy_.port()};
  ASSERT_EQ(one.ask("a", 10), "0123456789");
  proxy_.interfere(direction::to_client, {.stall = true});
  one.say("a");
  EXPECT_TRUE(one.hears_nothing());
  proxy_.heal();
  EXPECT_EQ(one.hear(10), "0123456789");
}

TEST_F(fault_proxy_itself, resets_what_it_took_bytes_from) {
  proxy_client one{proxy_.port()};
  ASSERT_EQ(one.ask("a", 10), "0123456789");
  proxy_.interfere(direction::to_server, {.swallow = true});
  one.say("abc");
  await([&] { return proxy_.swallowed(direction::to_server) >= 3; }, "they do not come");
  proxy_.heal();
  EXPECT_EQ(one.hear(1), "");
  EXPECT_EQ(one.error, ECONNRESET);
}

TEST_F(fault_proxy_itself, says_something_else_where_it_is_told_to) {
  proxy_client one{proxy_.port()};
  proxy_.forge([](std::string_view request, std::string_view answer) {
    return request == "b" ? std::string{answer.substr(0, 2)} + "xyz" : std::string{answer};
  });
  EXPECT_EQ(one.ask("a", 10), "0123456789");
  EXPECT_EQ(one.ask("b", 5), "01xyz");
  proxy_.heal();
  EXPECT_EQ(one.hear(1), "");
  EXPECT_EQ(one.error, ECONNRESET);
  proxy_client other{proxy_.port()};
  EXPECT_EQ(other.ask("b", 10), "0123456789");
}

TEST_F(fault_proxy_itself, slows_down) {
  proxy_.interfere(direction::to_client, {.bytes_per_second = 100});
  proxy_client one{proxy_.port()};
  const auto before = boot_clock::now();
  EXPECT_EQ(one.ask("a", 10), "0123456789");
  EXPECT_GE(boot_clock::now() - before, 80ms);
  proxy_.interfere(direction::to_client, {.delay = 30ms});
  const auto again = boot_clock::now();
  EXPECT_EQ(one.ask("a", 10), "0123456789");
  EXPECT_GE(boot_clock::now() - again, 30ms);
}

TEST_F(fault_proxy_itself, refuses_and_takes_again) {
  proxy_client before{proxy_.port()};
  ASSERT_EQ(before.ask("a", 10), "0123456789");
  proxy_.refuse(true);
  EXPECT_FALSE(proxy_client{proxy_.port()}.connected());
  EXPECT_EQ(before.ask("a", 10), "0123456789");
  proxy_.refuse(false);
  EXPECT_EQ(proxy_client{proxy_.port()}.ask("a", 10), "0123456789");
  proxy_.cut_all(ending::finish);
  EXPECT_EQ(before.hear(1), "");
  EXPECT_EQ(before.error, 0);
}

}  // namespace
}  // namespace holdfast::faults
