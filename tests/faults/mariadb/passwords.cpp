// SPDX-License-Identifier: Apache-2.0
// Whoever answers in the place of a server, and would like to have the password.

#include <array>
#include <atomic>
#include <mutex>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

#include "faults/faults.hpp"

namespace holdfast::faults {
namespace {

using namespace std::string_literals;

/// Speaks the beginning of the protocol: greets, takes the log-in, and asks for another way of
/// authentication.
class false_server {
 public:
  explicit false_server(std::string plugin)
      : plugin_{std::move(plugin)}, listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    ::sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    ::socklen_t size = sizeof address;
    auto* const at = reinterpret_cast<::sockaddr*>(&address);
    if (::bind(listener_, at, size) != 0 || ::listen(listener_, 64) != 0 ||
        ::getsockname(listener_, at, &size) != 0) {
      throw std::system_error{errno, std::generic_category(), "a server on the loopback"};
    }
    port_ = ::ntohs(address.sin_port);
    thread_ = std::jthread{[this] { serve(); }};
  }
  ~false_server() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  false_server(const false_server&) = delete;
  false_server& operator=(const false_server&) = delete;

  [[nodiscard]] std::string url(const std::string& options = {}) const {
    return "mysql://" + user() + ":TopSecret@127.0.0.1:" + std::to_string(port_) + "/holdfast" + options;
  }
  /// How many have tried to log in.
  [[nodiscard]] int guests() const { return guests_; }
  /// What was sent in the way that was asked for: the password, or the wish for a key to encrypt it with.
  [[nodiscard]] std::vector<std::string> secrets() const {
    const std::lock_guard lock{mutex_};
    return secrets_;
  }

 private:
  void serve() {
    for (int fd = 0; (fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0; ::close(fd)) {
      const ::timeval limit{10, 0};
      ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
      send(fd, 0, greeting());
      // A client of another test may still try the port, which was its server's.
      if (receive(fd).find('\0' + user() + '\0') == std::string::npos) continue;
      ++guests_;
      send(fd, 2, "\xfe"s + plugin_ + '\0' + "01234567890123456789"s + '\0');
      std::string answer = receive(fd);
      if (is_farewell(answer)) continue;
      // A proof that is no password follows for caching_sha2: asked for the whole, one would send that.
      if (plugin_ == "caching_sha2_password") {
        send(fd, 4, "\x01\x04"s);
        answer = receive(fd);
        if (is_farewell(answer)) continue;
      }
      const std::lock_guard lock{mutex_};
      secrets_.push_back(std::move(answer));
    }
  }
  /// Of this server's clients alone.
  [[nodiscard]] std::string user() const { return "visitor_" + std::to_string(port_); }
  /// The client has gone, with COM_QUIT or without.
  static bool is_farewell(const std::string& packet) { return packet.empty() || packet == "\x01"; }
  static std::string greeting() {
    constexpr unsigned capabilities = 0x008FF7DFU & ~0x0800U;  // of a usual server without TLS
    const auto two_bytes = [](unsigned number) {
      return std::string{static_cast<char>(number & 0xFFU), static_cast<char>(number >> 8U & 0xFFU)};
    };
    return "\x0a"s + "8.4.0"s + '\0' + "\x07\0\0\0"s + "abcdefgh"s + '\0' +
           two_bytes(capabilities & 0xFFFFU) + "\x2d"s + two_bytes(2) + two_bytes(capabilities >> 16U) +
           "\x15"s + std::string(10, '\0') + "ijklmnopqrst"s + '\0' + "mysql_native_password"s + '\0';
  }
  static void send(int fd, unsigned sequence, const std::string& payload) {
    const auto size = payload.size();
    const std::string header{static_cast<char>(size & 0xFFU), static_cast<char>(size >> 8U), '\0',
                             static_cast<char>(sequence)};
    const std::string packet = header + payload;
    [[maybe_unused]] const auto sent = ::send(fd, packet.data(), packet.size(), MSG_NOSIGNAL);
  }
  /// One packet's content; empty: the client is gone.
  static std::string receive(int fd) {
    std::array<unsigned char, 4> header{};
    if (::recv(fd, header.data(), header.size(), MSG_WAITALL) != 4) return {};
    std::string payload(header[0] + 256U * header[1], '\0');
    const auto got = ::recv(fd, payload.data(), payload.size(), MSG_WAITALL);
    return got > 0 ? payload : std::string{};
  }

  const std::string plugin_;
  std::uint16_t port_ = 0;
  std::atomic<int> guests_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> secrets_;
  int listener_;
  std::jthread thread_;
};

TEST(mariadb_passwords, are_not_given_to_a_server_that_nobody_knows) {
  for (const char* plugin :
       {"caching_sha2_password", "sha256_password", "mysql_clear_password", "dialog", "auth_gssapi_client"}) {
    for (const char* options : {"", "?tls=0"}) {
      const false_server there{plugin};
      const auto refused = failure_of([&] {
        client locks{there.url(options), client_options{}.locks(hasty())};
        mutex{locks, "stock"}.lock();
      });
      EXPECT_EQ(refused.code, errc::permission_denied) << plugin << ": " << refused.text;
      EXPECT_THAT(refused.text, testing::Not(testing::HasSubstr("TopSecret")));
      EXPECT_GT(there.guests(), 0);
      EXPECT_THAT(there.secrets(), testing::IsEmpty()) << plugin;
    }
  }
}

TEST(mariadb_passwords, that_cannot_be_hidden_are_refused_with_what_helps) {
  const false_server there{"caching_sha2_password"};
  const auto refused = failure_of([&] {
    client locks{there.url(), client_options{}.locks(hasty())};
    mutex{locks, "stock"}.lock();
  });
  EXPECT_THAT(refused.text, testing::HasSubstr("verified TLS (ca=)"));
}

}  // namespace
}  // namespace holdfast::faults
