// SPDX-License-Identifier: Apache-2.0
#include "http.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sstream>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "cli/process.hpp"

namespace holdfast::test {

namespace {

std::system_error failed(const char* call) { return {errno, std::generic_category(), call}; }

}  // namespace

connection::connection(std::uint16_t port, int receive_buffer, std::uint32_t from)
    : fd_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
  if (receive_buffer != 0) ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  sockaddr_in own{};
  own.sin_family = AF_INET;
  own.sin_addr.s_addr = htonl(from);
  if (from != 0) ::bind(fd_, reinterpret_cast<const sockaddr*>(&own), sizeof own);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) return;
  const auto problem = failed("connect");
  ::close(fd_);
  throw problem;
}

connection::~connection() {
  if (fd_ >= 0) ::close(fd_);
}

connection::connection(connection&& other) noexcept
    : fd_{std::exchange(other.fd_, -1)}, received_{std::move(other.received_)} {}

void connection::send(std::string_view text) const {
  while (!text.empty()) {
    const auto sent = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0) return;  // the server has ended it, which the reply shows
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

bool connection::receive() {
  pollfd polled{fd_, POLLIN, 0};
  if (::poll(&polled, 1, static_cast<int>(std::chrono::milliseconds{wait_limit}.count())) != 1) return false;
  std::array<char, 65536> part{};
  const auto count = ::recv(fd_, part.data(), part.size(), 0);
  if (count <= 0) return false;
  received_.append(part.data(), static_cast<std::size_t>(count));
  return true;
}

std::string connection::read_until(std::string_view end) {
  std::size_t at = 0;
  std::size_t from = 0;
  while ((at = received_.find(end, from)) == std::string::npos) {
    from = received_.size() < end.size() ? 0 : received_.size() - end.size();
    if (!receive()) return std::exchange(received_, {});
  }
  const auto result = received_.substr(0, at + end.size());
  received_.erase(0, at + end.size());
  return result;
}

std::string connection::read(std::size_t count) {
  while (received_.size() < count && receive()) {
  }
  const auto result = received_.substr(0, count);
  received_.erase(0, count);
  return result;
}

bool connection::is_ended() {
  const auto limit = std::chrono::steady_clock::now() + wait_limit;
  while (receive()) received_.clear();
  return std::chrono::steady_clock::now() < limit;
}

http_reply read_reply(connection& from, bool has_body) {
  http_reply reply;
  std::istringstream head{from.read_until("\r\n\r\n")};
  std::string version;
  head >> version >> reply.status;
  std::string line;
  std::getline(head, line);
  while (std::getline(head, line) && line != "\r") {
    const auto colon = line.find(": ");
    if (colon == std::string::npos) continue;
    auto name = line.substr(0, colon);
    std::ranges::transform(name, name.begin(), [](unsigned char each) { return std::tolower(each); });
    reply.headers[name] = line.substr(colon + 2, line.size() - colon - 3);
  }
  if (has_body && reply.headers.contains("content-length"))
    reply.body = from.read(std::stoul(reply.headers["content-length"]));
  return reply;
}

server_event read_event(connection& from) {
  server_event event;
  std::istringstream lines{from.read_until("\n\n")};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("event: ")) event.kind = line.substr(7);
    if (line.starts_with("data: ")) event.data = line.substr(6);
  }
  return event;
}

nlohmann::json next_event(connection& from, const std::string& kind) {
  while (true) {
    const auto event = read_event(from);
    auto data = nlohmann::json::parse(event.data, nullptr, false);
    if (event.kind == kind && !data.is_discarded()) return data;
    if (event.kind.empty() || data.is_discarded()) {
      ADD_FAILURE() << "the stream ended before an event of the kind " << kind;
      return nullptr;
    }
  }
}

}  // namespace holdfast::test
