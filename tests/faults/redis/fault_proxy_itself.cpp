// SPDX-License-Identifier: Apache-2.0
// What the other tests believe of the proxy between them and a server.

#include <netinet/in.h>
#include <sys/socket.h>
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
    ::connect(socket_, reinterpret_cast<::sockaddr*>(&address), sizeof address);
  }
  ~proxy_client() { ::close(socket_); }
  proxy_client(const proxy_client&) = delete;
  proxy_client& operator=(const proxy_client&) = delete;

  void say(std::string_view request) { ::send(socket_, request.data(), request.size(), MSG_NOSIGNAL); }
  /// So many bytes; fewer where the connection ended first, and then `error` says how.
  std::string hear(std::size_t count) {
    std::string heard(count, '\0');
    const auto got = ::recv(socket_, heard.data(), count, MSG_WAITALL);
    error = got < 0 ? errno : 0;
    heard.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return heard;
  }
  std::string ask(std::string_view request, std::size_t count) {
    say(request);
    return hear(count);
  }

  int error = 0;

 private:
  int socket_;
};

class fault_proxy_itself : public testing::Test {
 protected:
  canned_server server_{"0123456789"};
  fault_proxy proxy_{server_.port()};
};

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

}  // namespace
}  // namespace holdfast::faults
