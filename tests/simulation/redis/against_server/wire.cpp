// SPDX-License-Identifier: Apache-2.0
#include "simulation/redis/against_server/wire.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace holdfast::sim {

std::string bytes_of(const strings& command) {
  std::string bytes;
  redis::append_command(bytes, command.size());
  for (const std::string& argument : command) redis::append_bulk_string(bytes, argument);
  return bytes;
}

wire::wire(const std::string& socket_path) : socket_{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
  if (socket_ < 0) throw std::system_error{errno, std::generic_category(), "socket"};
  ::sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const ::timeval reply_limit{20, 0};  // a server that stands still fails the test instead of holding it up
  bool fine = socket_path.size() < sizeof address.sun_path;
  if (fine) {
    std::memcpy(address.sun_path, socket_path.c_str(), socket_path.size() + 1);
    fine = ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &reply_limit, sizeof reply_limit) == 0 &&
           ::connect(socket_, reinterpret_cast<::sockaddr*>(&address), sizeof address) == 0;
  }
  if (fine) return;
  ::close(socket_);
  throw std::runtime_error{"cannot connect to " + socket_path};
}

wire::~wire() { ::close(socket_); }

redis::value wire::ask(const strings& command) {
  say(bytes_of(command));
  return hear();
}

void wire::say(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) throw std::runtime_error{"the server took no more"};
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

redis::value wire::hear() {
  for (;;) {
    while (auto message = parser_.next()) {
      if (!message->is(redis::value::kind::push)) return std::move(*message);
      pushes_.push_back(std::move(*message));
    }
    std::array<char, 16'384> some;
    const auto count = ::recv(socket_, some.data(), some.size(), 0);
    if (count <= 0)
      throw std::runtime_error{std::string{count == 0 ? "the server hung up" : "the server said no more: "} +
                               (count == 0 ? "" : std::strerror(errno)) +
                               (parser_.is_in_message() ? ", in the middle of a message" : "")};
    parser_.feed({some.data(), static_cast<std::size_t>(count)});
  }
}

std::vector<redis::value> wire::take_pushes() {
  ask({"PING"});  // answered after all that was published before
  return std::exchange(pushes_, {});
}

}  // namespace holdfast::sim
