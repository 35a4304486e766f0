#include "stores/zookeeper/link/four_letter.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace holdfast::zookeeper {

namespace {

constexpr std::size_t most_bytes = 1 << 20;

struct descriptor {
  explicit descriptor(int of) : number{of} {}
  ~descriptor() {
    if (number >= 0) ::close(number);
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  int number;
};

[[noreturn]] void fail(const std::string& step, int system_error) {
  throw runtime::connection_error{{errc::unavailable, step + ": " + std::strerror(system_error)}};
}

}  // namespace

std::string ask_four_letter(const std::string& address, std::string_view command,
                            runtime::io_deadline limit) {
  const auto colon = address.rfind(':');
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int problem =
      ::getaddrinfo(address.substr(0, colon).c_str(), address.substr(colon + 1).c_str(), &hints, &found);
  if (problem != 0) throw runtime::connection_error{{errc::unavailable, ::gai_strerror(problem)}};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner{found, &::freeaddrinfo};
  const descriptor to{::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (to.number < 0) fail("no socket", errno);
  limit.begin("the server to accept a connection");
  if (::connect(to.number, found->ai_addr, found->ai_addrlen) != 0) {
    if (errno != EINPROGRESS) fail("cannot connect", errno);
    limit.wait(to.number, POLLOUT);
    int code = 0;
    socklen_t size = sizeof code;
    ::getsockopt(to.number, SOL_SOCKET, SO_ERROR, &code, &size);
    if (code != 0) fail("cannot connect", code);
  }
  limit.begin("the server to answer");
  if (::send(to.number, command.data(), command.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(command.size()))
    fail("cannot send", errno);
  std::string answer;
  std::array<char, 16'384> part{};
  while (answer.size() < most_bytes) {
    limit.wait(to.number, POLLIN);
    const ssize_t count = ::recv(to.number, part.data(), part.size(), 0);
    if (count == 0) break;
    if (count < 0 && errno != EAGAIN && errno != EINTR) fail("cannot read the answer", errno);
    if (count > 0) answer.append(part.data(), static_cast<std::size_t>(count));
  }
  return answer;
}

}  // namespace holdfast::zookeeper
