// SPDX-License-Identifier: Apache-2.0
#include "support/redis_console.hpp"

#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>

#include "bench/resp_command.hpp"

namespace holdfast::test {

redis_console::redis_console(const std::string& socket_path)
    : socket_{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
  if (socket_ < 0) throw std::system_error{errno, std::generic_category(), "socket"};
  ::sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof address.sun_path) {
    throw std::system_error{ENAMETOOLONG, std::generic_category(), socket_path};
  }
  std::memcpy(address.sun_path, socket_path.c_str(), socket_path.size() + 1);
  connected_ = ::connect(socket_, reinterpret_cast<::sockaddr*>(&address), sizeof address) == 0;
}

redis_console::~redis_console() { ::close(socket_); }

std::string redis_console::ask(const std::vector<std::string>& arguments) {
  tell(arguments);
  return reply();
}

void redis_console::tell(const std::vector<std::string>& arguments) {
  const std::string request = resp_command(arguments);
  std::string_view left{request};
  while (connected_ && !left.empty()) {
    const auto sent = ::send(socket_, left.data(), left.size(), MSG_NOSIGNAL);
    connected_ = sent > 0;
    if (connected_) left.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::string redis_console::reply() {
  const std::string head = line();
  if (head.empty()) return {};
  const std::string rest = head.substr(1);
  switch (head.front()) {
    case '-': return head;
    case '$':
      if (rest == "-1") return "(nil)";
      return bytes(std::stoul(rest));
    case '*': {
      if (rest == "-1") return "(nil)";
      std::string items;
      for (auto left = std::stoul(rest); left > 0; --left) items += reply() + (left > 1 ? "\n" : "");
      return items;
    }
    default: return rest;
  }
}

std::string redis_console::line() {
  auto end = received_.find("\r\n");
  while (end == std::string::npos) {
    if (!receive()) return {};
    end = received_.find("\r\n");
  }
  std::string result = received_.substr(0, end);
  received_.erase(0, end + 2);
  return result;
}

std::string redis_console::bytes(std::size_t count) {
  while (received_.size() < count + 2) {
    if (!receive()) return {};
  }
  std::string result = received_.substr(0, count);
  received_.erase(0, count + 2);
  return result;
}

bool redis_console::receive() {
  char some[16'384];
  const auto count = connected_ ? ::recv(socket_, some, sizeof some, 0) : 0;
  connected_ = count > 0;
  if (connected_) received_.append(some, static_cast<std::size_t>(count));
  return connected_;
}

}  // namespace holdfast::test
