// SPDX-License-Identifier: Apache-2.0
#include "support/loopback_server.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace holdfast::test {

loopback_server::loopback_server(service each)
    : each_{std::move(each)},
      listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)},
      wake_{::eventfd(0, EFD_CLOEXEC)} {
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
  thread_ = std::jthread{[this](const std::stop_token& until) { serve(until); }};
}

loopback_server::~loopback_server() {
  thread_.request_stop();
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);
  thread_.join();
  ::close(listener_);
  ::close(wake_);
}

void loopback_server::serve(const std::stop_token& until) {
  std::vector<::pollfd> all{{wake_, POLLIN, 0}, {listener_, POLLIN, 0}};
  while (::poll(all.data(), all.size(), -1) >= 0 && !until.stop_requested()) {
    for (std::size_t i = 2; i < all.size(); ++i) {
      if (all[i].revents == 0 || each_(all[i].fd)) continue;
      ::close(all[i].fd);
      all[i].fd = -1;
    }
    std::erase_if(all, [](const ::pollfd& each) { return each.fd < 0; });
    if (all[1].revents == 0) continue;
    all.push_back({::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC), POLLIN, 0});
    ++connections_;
  }
  for (std::size_t i = 2; i < all.size(); ++i) ::close(all[i].fd);
}

}  // namespace holdfast::test
