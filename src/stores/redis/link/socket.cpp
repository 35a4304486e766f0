// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/annotated_mutex.hpp"
#include "runtime/signals.hpp"
#include "runtime/wakeup_fd.hpp"
#include "stores/redis/link/stream.hpp"

namespace holdfast::redis {

namespace {

using runtime::io_deadline;

[[noreturn]] void cut(int code) {
  throw connection_error{{errc::unavailable, std::string{"the connection broke: "} + std::strerror(code)}};
}

class plain final : public stream {
 public:
  explicit plain(int socket) : socket_{socket} {}
  ~plain() override {
    ::shutdown(socket_, SHUT_RDWR);  // a child after fork() may have it open, too
    ::close(socket_);
  }
  plain(const plain&) = delete;
  plain& operator=(const plain&) = delete;

  std::size_t read_some(char* to, std::size_t room) override {
    while (true) {
      const ssize_t n = ::recv(socket_, to, room, 0);
      if (n > 0) return static_cast<std::size_t>(n);
      if (n == 0) throw connection_error{{errc::unavailable, "the server closed the connection"}};
      if (errno == EAGAIN || errno == EWOULDBLOCK) return 0;
      if (errno != EINTR) cut(errno);
    }
  }
  std::size_t write_some(std::string_view bytes) override {
    while (true) {
      const ssize_t n = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n >= 0) return static_cast<std::size_t>(n);
      if (errno == EAGAIN || errno == EWOULDBLOCK) return 0;
      if (errno != EINTR) cut(errno);
    }
  }
  [[nodiscard]] int descriptor() const override { return socket_; }

 private:
  int socket_;
};

struct closer {
  int fd = -1;
  closer() = default;
  explicit closer(int f) : fd{f} {}
  ~closer() {
    if (fd >= 0) ::close(fd);
  }
  closer(const closer&) = delete;
  closer& operator=(const closer&) = delete;
  int release() { return std::exchange(fd, -1); }
};

struct address {
  int family = AF_UNSPEC;
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

address unix_address(const std::string& path) {
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  if (path.size() >= sizeof a.sun_path) {
    throw connection_error{{errc::invalid_url, "the path of a Unix socket has at most " +
                                                   std::to_string(sizeof a.sun_path - 1) + " bytes"},
                           false};
  }
  std::memcpy(a.sun_path, path.data(), path.size());
  address found;
  found.family = AF_UNIX;
  std::memcpy(&found.bytes, &a, sizeof a);
  found.size = sizeof a;
  return found;
}

/// A name look-up blocks without a limit and cannot be stopped. It has its own thread, which is abandoned
/// when it takes too long.
std::vector<address> look_up(const std::string& host, const std::string& port, const io_deadline& limit) {
  struct question {
    std::string host;
    std::string port;
    std::optional<runtime::wakeup_fd> ready;  // of a name alone
    annotated::mutex mutex;
    std::vector<address> found HOLDFAST_GUARDED_BY(mutex);
    int problem HOLDFAST_GUARDED_BY(mutex) = 0;
  };
  const auto ask = [](question& q, int flags) {
    const annotated::lock held{q.mutex};
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags;
    addrinfo* list = nullptr;
    q.problem = ::getaddrinfo(q.host.c_str(), q.port.c_str(), &hints, &list);
    for (const addrinfo* a = list; a != nullptr; a = a->ai_next) {
      address one;
      one.family = a->ai_family;
      std::memcpy(&one.bytes, a->ai_addr, a->ai_addrlen);
      one.size = a->ai_addrlen;
      q.found.push_back(one);
    }
    if (list != nullptr) ::freeaddrinfo(list);
    return q.problem;
  };
  const auto q = std::make_shared<question>();
  q->host = host;
  q->port = port;
  if (ask(*q, AI_NUMERICHOST) == EAI_NONAME) {
    try {
      q->ready.emplace();
    } catch (const error&) {
      throw connection_error{{errc::exhausted, "no descriptor is left to look the host up"}};
    }
    runtime::quiet_thread([q, ask] {
      ask(*q, AI_ADDRCONFIG);
      q->ready->ring();
    }).detach();
    limit.wait(q->ready->descriptor(), POLLIN);
  }
  const annotated::lock held{q->mutex};
  if (q->problem != 0 || q->found.empty()) {
    throw connection_error{
        {errc::unavailable, "the host " + host + " cannot be found: " + ::gai_strerror(q->problem)}};
  }
  return q->found;
}

/// A connected socket, or -1 and the reason in errno.
int connect_to(const address& a, const io_deadline& limit) {
  closer fd{::socket(a.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (fd.fd < 0) return -1;
  if (::connect(fd.fd, reinterpret_cast<const sockaddr*>(&a.bytes), a.size) != 0) {
    if (errno != EINPROGRESS) return -1;
    limit.wait(fd.fd, POLLOUT);
    int problem = 0;
    socklen_t size = sizeof problem;
    ::getsockopt(fd.fd, SOL_SOCKET, SO_ERROR, &problem, &size);
    if (problem != 0) {
      errno = problem;
      return -1;
    }
  }
  if (a.family != AF_UNIX) {
    const int on = 1;
    ::setsockopt(fd.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(fd.fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  }
  return fd.release();
}

int connect_any(const server_address& to, io_deadline& limit) {
  const auto addresses =
      to.path.empty() ? look_up(to.host, to.port, limit) : std::vector<address>{unix_address(to.path)};
  limit.begin("the host to answer");
  int problem = 0;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    try {  // an address that does not answer must leave time for the others
      const int fd = connect_to(addresses[i], limit.share(addresses.size() - i));
      if (fd >= 0) return fd;
      problem = errno;
    } catch (const connection_error& c) {
      if (c.reason.code == errc::closed || i + 1 == addresses.size()) throw;
      problem = ETIMEDOUT;
    }
  }
  const errc as = problem == EACCES                        ? errc::permission_denied
                  : problem == EMFILE || problem == ENFILE ? errc::exhausted
                                                           : errc::unavailable;
  throw connection_error{{as, std::string{"cannot connect: "} + std::strerror(problem)},
                         as != errc::permission_denied};
}

}  // namespace

std::unique_ptr<stream> connect_stream(const server_address& to, const tls_context* secure,
                                       io_deadline& limit) {
  const int socket = connect_any(to, limit);
  if (secure == nullptr) return std::make_unique<plain>(socket);
  limit.begin("TLS to begin (does the server speak TLS on this port?)");
  return secure->open(socket, to.host, [&](short events) { limit.wait(socket, events); });
}

std::string own_address(const value& client_info, int socket) {
  const std::string& info = client_info.text;
  const std::size_t begin = info.find(" addr=");
  if (client_info.is(value::kind::text) && begin != std::string::npos &&
      info.find(" addr=/") == std::string::npos) {
    return info.substr(begin + 6, info.find(' ', begin + 6) - begin - 6);
  }
  sockaddr_storage a{};
  socklen_t size = sizeof a;
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&a), &size) != 0 || a.ss_family == AF_UNIX ||
      ::getnameinfo(reinterpret_cast<const sockaddr*>(&a), size, host.data(), host.size(), port.data(),
                    port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return {};
  }
  const std::string name = host.data();
  return (a.ss_family == AF_INET6 ? "[" + name + "]" : name) + ":" + port.data();
}

}  // namespace holdfast::redis
