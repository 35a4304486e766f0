// SPDX-License-Identifier: Apache-2.0
#pragma once

// A connection to a Redis server with nothing in between: what goes out and what comes in, in blocking calls.

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "floor.hpp"
#include "resp_command.hpp"

inline std::string command(std::initializer_list<std::string_view> arguments) {
  return resp_command(arguments);
}

class resp_socket {
 public:
  /// \param where HOST:PORT, or the path of a Unix socket.
  explicit resp_socket(const std::string& where) : fd_{where.starts_with('/') ? local(where) : tcp(where)} {}
  ~resp_socket() { ::close(fd_); }
  resp_socket(const resp_socket&) = delete;
  resp_socket& operator=(const resp_socket&) = delete;

  void send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0) give_up(std::strerror(errno));
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  /// What has come, at most `room` bytes of it; waits for the first.
  std::size_t receive(char* to, std::size_t room) const {
    const ssize_t got = ::recv(fd_, to, room, 0);
    if (got == 0) give_up("the server closed the connection");
    if (got < 0) give_up(std::strerror(errno));
    return static_cast<std::size_t>(got);
  }

  /// So many bytes, no more: the floors know how long each of their replies is.
  std::string receive_exactly(std::size_t length) const {
    std::string bytes(length, '\0');
    for (std::size_t have = 0; have < length;) have += receive(bytes.data() + have, length - have);
    return bytes;
  }

  /// Sends a command and waits for a reply known beforehand; any other ends the program.
  void call(std::string_view sent, std::string_view reply) const {
    send(sent);
    expect(reply);
  }

  void expect(std::string_view reply) const {
    // Compared as it comes: an error may be shorter than the reply, and the rest would be waited for.
    std::string got;
    while (got.size() < reply.size()) {
      char part[512];
      got.append(part, receive(part, std::min(sizeof part, reply.size() - got.size())));
      if (!reply.starts_with(got)) give_up("the server answered " + got + rest());
    }
  }

  /// For poll().
  int descriptor() const noexcept { return fd_; }

 private:
  /// Of an error, as far as it has come.
  std::string rest() const {
    char part[512];
    const ssize_t got = ::recv(fd_, part, sizeof part, MSG_DONTWAIT);
    return got > 0 ? std::string(part, static_cast<std::size_t>(got)) : std::string{};
  }

  static int local(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) give_up("too long for a socket's path: " + path);
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      give_up(path + ": " + std::strerror(errno));
    }
    return fd;
  }

  static int tcp(const std::string& where) {
    const auto colon = where.rfind(':');
    if (colon == std::string::npos) give_up(where + " is neither HOST:PORT nor a path");
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int problem =
        ::getaddrinfo(where.substr(0, colon).c_str(), where.c_str() + colon + 1, &hints, &found);
    if (problem != 0) give_up(where + ": " + ::gai_strerror(problem));
    const int fd = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || ::connect(fd, found->ai_addr, found->ai_addrlen) != 0) {
      give_up(where + ": " + std::strerror(errno));
    }
    ::freeaddrinfo(found);
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
  }

  int fd_;
};
