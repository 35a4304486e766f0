// SPDX-License-Identifier: Apache-2.0
#include "support/fake_redis.hpp"

#include <optional>
#include <poll.h>
#include <string_view>
#include <sys/socket.h>
#include <utility>

namespace holdfast::test {

namespace {

/// Takes the number of a line such as "*3".
std::optional<std::size_t> take_count(std::string_view& bytes) {
  const auto end = bytes.find("\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  const std::size_t count = std::stoul(std::string{bytes.substr(1, end - 1)});
  bytes.remove_prefix(end + 2);
  return count;
}

/// Takes a complete command; empty: it is not complete.
std::optional<std::vector<std::string>> take_command(std::string& received) {
  std::string_view rest = received;
  const auto words = take_count(rest);
  if (!words) return std::nullopt;
  std::vector<std::string> command;
  while (command.size() < *words) {
    const auto size = take_count(rest);
    if (!size || rest.size() < *size + 2) return std::nullopt;
    command.emplace_back(rest.substr(0, *size));
    rest.remove_prefix(*size + 2);
  }
  received.erase(0, received.size() - rest.size());
  return command;
}

void send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    ::pollfd ready{socket, POLLOUT, 0};
    constexpr int longest_ms = 5000;
    if (::poll(&ready, 1, longest_ms) <= 0) return;
    const auto sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

}  // namespace

void fake_redis::answer_with(answer next) {
  const std::scoped_lock held{mutex_};
  answer_ = std::move(next);
}

bool fake_redis::serve(int socket) {
  char bytes[16'384];
  const auto count = ::recv(socket, bytes, sizeof bytes, 0);
  if (count <= 0) {
    received_.erase(socket);
    return false;
  }
  auto& received = received_[socket];
  received.append(bytes, static_cast<std::size_t>(count));
  while (const auto command = take_command(received)) send_all(socket, reply_to(*command));
  return true;
}

std::string fake_redis::reply_to(const std::vector<std::string>& command) {
  const std::string& verb = command.at(0);
  if (verb == "HELLO") return "%2\r\n$4\r\nmode\r\n$7\r\ncluster\r\n$7\r\nversion\r\n$5\r\n7.2.0\r\n";
  if (verb == "SUBSCRIBE") {
    return ">3\r\n$9\r\nsubscribe\r\n$" + std::to_string(command.at(1).size()) + "\r\n" + command.at(1) +
           "\r\n:1\r\n";
  }
  if (verb == "CLIENT" || verb == "SCRIPT" || verb == "ASKING") return "+OK\r\n";
  if (verb == "PING") return "+PONG\r\n";
  const std::scoped_lock held{mutex_};
  return answer_ ? answer_(command) : std::string{};
}

}  // namespace holdfast::test
