// SPDX-License-Identifier: Apache-2.0
#include "support/reserved_port.hpp"

#include <cstddef>
#include <netinet/in.h>
#include <random>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace holdfast::test {

namespace {

/// A socket that is bound to the address; none when another one is.
int bound_to(const ::sockaddr* address, ::socklen_t size) {
  const int result = ::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::bind(result, address, size) == 0) return result;
  ::close(result);
  return -1;
}

bool is_free(std::uint16_t port) {
  ::sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = ::htons(port);
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  const int bound = bound_to(reinterpret_cast<::sockaddr*>(&address), sizeof address);
  ::close(bound);
  return bound >= 0;
}

/// Binds the port's name in the abstract namespace, which has no files and forgets the dead. The port itself
/// stays unbound, for the server.
int reserve(std::uint16_t port) {
  ::sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const auto name = "holdfast-test-port-" + std::to_string(port);
  name.copy(address.sun_path + 1, name.size());
  return bound_to(reinterpret_cast<::sockaddr*>(&address),
                  static_cast<::socklen_t>(offsetof(::sockaddr_un, sun_path) + 1 + name.size()));
}

}  // namespace

reserved_port::reserved_port() {
  // Below the range that Linux draws ports of outgoing connections from; at random, because other test
  // programs draw at the same time.
  static std::random_device entropy;
  std::uniform_int_distribution<int> any{10'000, 30'000};
  for (int attempt = 0; attempt < 1'000; ++attempt) {
    number_ = static_cast<std::uint16_t>(any(entropy));
    reservation_ = reserve(number_);
    if (reservation_ < 0) continue;
    if (is_free(number_)) return;
    ::close(reservation_);
  }
  throw std::runtime_error{"no free port on the loopback"};
}

reserved_port::reserved_port(reserved_port&& from) noexcept
    : number_{from.number_}, reservation_{std::exchange(from.reservation_, -1)} {}

reserved_port::~reserved_port() {
  if (reservation_ >= 0) ::close(reservation_);
}

}  // namespace holdfast::test
