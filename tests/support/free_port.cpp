#include "support/free_port.hpp"

#include <netinet/in.h>
#include <random>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

namespace holdfast::test {

namespace {

bool is_free(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ::sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = ::htons(port);
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  const bool bound = ::bind(socket, reinterpret_cast<::sockaddr*>(&address), sizeof address) == 0;
  ::close(socket);
  return bound;
}

}  // namespace

std::uint16_t free_port() {
  // Below the range that Linux draws ports of outgoing connections from; at random, because other test
  // programs draw at the same time.
  static std::random_device entropy;
  std::uniform_int_distribution<int> any{10'000, 30'000};
  for (int attempt = 0; attempt < 1'000; ++attempt) {
    const auto port = static_cast<std::uint16_t>(any(entropy));
    if (is_free(port)) return port;
  }
  throw std::runtime_error{"no free port on the loopback"};
}

}  // namespace holdfast::test
