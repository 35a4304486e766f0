#include "support/fake_redis.hpp"

#include <cerrno>
#include <netinet/in.h>
#include <optional>
#include <poll.h>
#include <string_view>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>
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

fake_redis::fake_redis()
    : listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)}, wake_{::eventfd(0, EFD_CLOEXEC)} {
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

fake_redis::~fake_redis() {
  thread_.request_stop();
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);
  thread_.join();
  ::close(listener_);
  ::close(wake_);
}

void fake_redis::answer_with(answer next) {
  const std::scoped_lock held{mutex_};
  answer_ = std::move(next);
}

void fake_redis::serve(const std::stop_token& until) {
  std::vector<connection> all;
  while (!until.stop_requested()) {
    std::vector<::pollfd> ready{{wake_, POLLIN, 0}, {listener_, POLLIN, 0}};
    for (const connection& each : all) ready.push_back({each.socket, POLLIN, 0});
    if (::poll(ready.data(), ready.size(), -1) < 0) break;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (ready[i + 2].revents == 0 || serve_one(all[i])) continue;
      ::close(all[i].socket);
      all[i].socket = -1;
    }
    std::erase_if(all, [](const connection& each) { return each.socket < 0; });
    if (ready[1].revents != 0) all.push_back({::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)});
  }
  for (const connection& each : all) ::close(each.socket);
}

bool fake_redis::serve_one(connection& c) {
  char bytes[16'384];
  const auto count = ::recv(c.socket, bytes, sizeof bytes, 0);
  if (count <= 0) return false;
  c.received.append(bytes, static_cast<std::size_t>(count));
  while (const auto command = take_command(c.received)) send_all(c.socket, reply_to(*command));
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
