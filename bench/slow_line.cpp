// SPDX-License-Identifier: Apache-2.0
// A TCP line on the loopback that is as long as wanted: bytes that go in at one end leave the other so much
// later.
//
//     slow_line MICROSECONDS PORT...
//
// Prints the ports that lead to those, in their order, on one line; ends with its input. Its own time does
// not show: the delay counts from when the kernel received the bytes. What a socket has no room for waits in
// memory, without a limit.

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <list>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "floor.hpp"

namespace {

using std::chrono::nanoseconds;
using line_clock = std::chrono::system_clock;  // that of the kernel's time stamps

/// A thread that sleeps until bytes are due wakes up late, by less than that. It spins for the rest.
constexpr std::chrono::microseconds early{45};

void require(bool succeeded, const char* action) {
  if (!succeeded) give_up(std::string{action} + ": " + std::strerror(errno));
}

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

/// \return when the kernel received the bytes of `message`.
line_clock::time_point arrival(msghdr& message) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_TIMESTAMPNS) continue;
    std::timespec at{};
    std::memcpy(&at, CMSG_DATA(part), sizeof at);
    return line_clock::time_point{std::chrono::seconds{at.tv_sec} + nanoseconds{at.tv_nsec}};
  }
  return line_clock::now();
}

/// One end of a connection. What its peer sends leaves at the other end.
struct line_end {
  int socket = -1;
  line_end* other = nullptr;
  std::string unsent{};       // what is due, and the socket has no room for
  bool heard_all = false;     // its peer sends no more
  bool is_last_due = false;   // the other's peer sends no more, and that is due here
  bool has_sent_all = false;  // and was passed on

  /// What is due, as far as there is room. What a peer that has gone cannot have is dropped.
  void send() {
    while (!unsent.empty()) {
      const ssize_t sent = ::send(socket, unsent.data(), unsent.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0 && errno == EAGAIN) return;
      unsent.erase(0, sent < 0 ? unsent.size() : static_cast<std::size_t>(sent));
    }
    if (is_last_due && !std::exchange(has_sent_all, true)) ::shutdown(socket, SHUT_WR);
  }
};

struct connection {
  line_end client;
  line_end server;

  explicit connection(int accepted) : client{.socket = accepted, .other = &server} {
    server.other = &client;
    server.socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    require(server.socket >= 0, "socket");
    for (const int each : {client.socket, server.socket}) {
      const int on = 1;
      ::setsockopt(each, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      ::setsockopt(each, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
    }
  }
  ~connection() {
    ::close(client.socket);
    ::close(server.socket);
  }
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;
  [[nodiscard]] bool is_over() const { return client.has_sent_all && server.has_sent_all; }
};

class lines {
 public:
  explicit lines(nanoseconds delay) : delay_{delay} {
    require(epoll_ >= 0, "epoll_create1");
    listen_to(STDIN_FILENO, nullptr, EPOLLIN);
  }

  /// \return the port that leads to `port`.
  int open(int port) {
    entrance& made = entrances_.emplace_back();
    made.leads_to = port;
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    auto* const as_any = reinterpret_cast<sockaddr*>(&address);
    require(::bind(made.socket, as_any, size) == 0 && ::listen(made.socket, SOMAXCONN) == 0 &&
                ::getsockname(made.socket, as_any, &size) == 0,
            "cannot listen");
    listen_to(made.socket, &made, EPOLLIN);
    return ntohs(address.sin_port);
  }

  /// Until the input ends.
  void run() {
    std::array<epoll_event, 64> events{};
    while (true) {
      const int ready = wait(events);
      for (int i = 0; i < ready; ++i) {
        void* const source = events[static_cast<std::size_t>(i)].data.ptr;
        if (source == nullptr) {
          if (has_input_ended()) return;
        } else if (const auto from = std::find_if(entrances_.begin(), entrances_.end(),
                                                  [&](const entrance& each) { return &each == source; });
                   from != entrances_.end()) {
          accept_all(*from);
        } else {
          auto& end = *static_cast<line_end*>(source);
          receive(end, (events[static_cast<std::size_t>(i)].events & ~(EPOLLIN | EPOLLOUT)) != 0);
          end.send();
        }
      }
      if (!pieces_.empty() && pieces_.front().due - line_clock::now() <= early) pass_on();
    }
  }

 private:
  struct entrance {
    int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int leads_to = 0;
  };
  struct piece {
    line_clock::time_point due;
    line_end* to;
    std::string bytes;  // none: there will be no more
  };

  void listen_to(int descriptor, void* source, std::uint32_t wanted) const {
    epoll_event event{};
    event.events = wanted;
    event.data.ptr = source;
    require(::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) == 0, "epoll_ctl");
  }

  static bool has_input_ended() {
    std::array<char, 512> ignored{};
    return ::read(STDIN_FILENO, ignored.data(), ignored.size()) <= 0;
  }

  int wait(std::array<epoll_event, 64>& events) const {
    std::timespec limit{};
    if (!pieces_.empty()) {
      const nanoseconds left =
          std::max<nanoseconds>(pieces_.front().due - early - line_clock::now(), nanoseconds::zero());
      const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
      limit = {seconds.count(), (left - seconds).count()};
    }
    const int ready = ::epoll_pwait2(epoll_, events.data(), static_cast<int>(events.size()),
                                     pieces_.empty() ? nullptr : &limit, nullptr);
    require(ready >= 0 || errno == EINTR, "epoll_pwait2");
    return ready;
  }

  void accept_all(const entrance& from) {
    while (true) {
      const int client = ::accept4(from.socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (client < 0) return;
      connection& made = connections_.emplace_back(client);
      const sockaddr_in server = loopback(from.leads_to);
      // A server that refuses is one that sends no more: the client hears that after the delay.
      ::connect(made.server.socket, reinterpret_cast<const sockaddr*>(&server), sizeof server);
      for (line_end* const each : {&made.client, &made.server})
        listen_to(each->socket, each, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
    }
  }

  /// \param whole up to the end, which comes without another event. Otherwise more bytes bring one.
  void receive(line_end& at, bool whole) {
    for (bool more = true; more && !at.heard_all;) {
      std::array<char, 256> control{};
      iovec room{buffer_.data(), buffer_.size()};
      msghdr message{};
      message.msg_iov = &room;
      message.msg_iovlen = 1;
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      const ssize_t got = ::recvmsg(at.socket, &message, 0);
      if (got < 0 && errno == EAGAIN) return;
      if (got < 0 && errno == EINTR) continue;
      at.heard_all = got <= 0;
      const auto length = static_cast<std::size_t>(std::max<ssize_t>(got, 0));
      more = whole || length == buffer_.size();
      const auto arrived = at.heard_all ? line_clock::now() : arrival(message);
      pieces_.push_back({arrived + delay_, at.other, std::string(buffer_.data(), length)});
    }
  }

  /// Everything that is due, the first of it in a moment.
  void pass_on() {
    auto now = line_clock::now();
    while (now < pieces_.front().due) now = line_clock::now();
    bool is_any_over = false;
    while (!pieces_.empty() && pieces_.front().due <= now) {
      const piece& next = pieces_.front();
      next.to->unsent += next.bytes;
      if (next.bytes.empty()) next.to->is_last_due = is_any_over = true;
      next.to->send();
      pieces_.pop_front();
    }
    // No piece is on its way in a connection of which both ends have sent all.
    if (is_any_over) connections_.remove_if([](const connection& each) { return each.is_over(); });
  }

  const nanoseconds delay_;
  const int epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  std::list<entrance> entrances_;
  std::list<connection> connections_;
  std::deque<piece> pieces_;  // of all connections, in the order in which they came
  std::array<char, 1 << 16> buffer_{};
};

}  // namespace

int main(int argc, char** argv) {
  const long delay_us = number(argc, argv, 1, -1);
  if (argc < 3 || delay_us < 0) return usage("MICROSECONDS PORT...");
  ::prctl(PR_SET_TIMERSLACK, 1);
  lines opened{std::chrono::microseconds{delay_us}};
  for (int i = 2; i < argc; ++i)
    std::printf("%d%c", opened.open(static_cast<int>(number(argc, argv, i, 0))), i + 1 < argc ? ' ' : '\n');
  std::fflush(stdout);
  opened.run();
}
