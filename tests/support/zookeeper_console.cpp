// SPDX-License-Identifier: Apache-2.0
#include "support/zookeeper_console.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <chrono>
#include <netinet/in.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

namespace holdfast::test {

namespace {

// ---- bytes, as ZooKeeper's own serialization has them

template <class Number>
std::string number(Number value) {
  std::string bytes;
  for (int shift = 8 * (sizeof value - 1); shift >= 0; shift -= 8) {
    bytes += static_cast<char>(static_cast<std::uint64_t>(value) >> shift & 0xFFU);
  }
  return bytes;
}

std::string text(std::string_view value) {
  return number(static_cast<std::int32_t>(value.size())).append(value);
}

std::string list(const std::vector<zookeeper_console::right>& rights) {
  std::string bytes = number(static_cast<std::int32_t>(rights.size()));
  for (const auto& each : rights) bytes += number(each.may) + text(each.scheme) + text(each.id);
  return bytes;
}

class reader {
 public:
  explicit reader(std::string_view bytes) : rest_{bytes} {}

  std::string_view bytes(std::size_t count) {
    if (count > rest_.size()) throw std::runtime_error{"zookeeper's answer ends early"};
    const auto some = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return some;
  }
  template <class Number>
  Number number() {
    std::uint64_t value = 0;
    for (const char byte : bytes(sizeof(Number))) value = value << 8U | static_cast<unsigned char>(byte);
    return static_cast<Number>(value);
  }
  std::string text() {
    const auto size = number<std::int32_t>();
    return size <= 0 ? std::string{} : std::string{bytes(static_cast<std::size_t>(size))};
  }
  [[nodiscard]] std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

/// What the server gave the session's owner: drawn by java.util.Random from the session's number and a secret
/// that is the same everywhere.
std::string password_of(std::int64_t session) {
  constexpr std::uint64_t secret = 0xB3415C00;
  constexpr std::uint64_t multiplier = 0x5DEECE66D;
  constexpr std::uint64_t mask = (1ULL << 48U) - 1;
  std::uint64_t seed = ((static_cast<std::uint64_t>(session) ^ secret) ^ multiplier) & mask;
  std::string password;
  while (password.size() < 16) {
    seed = (seed * multiplier + 0xB) & mask;
    const auto drawn = static_cast<std::uint32_t>(seed >> 16U);
    for (unsigned shift = 0; shift < 32; shift += 8) password += static_cast<char>(drawn >> shift & 0xFFU);
  }
  return password;
}

struct no_such_session : std::runtime_error {
  no_such_session() : std::runtime_error{"zookeeper knows no such session"} {}
};

constexpr std::int32_t end_of_session = -11;
constexpr std::int32_t no_node = -101;

}  // namespace

zookeeper_console::refusal::refusal(std::int32_t code_, const std::string& request)
    : std::runtime_error{"zookeeper refuses " + request + " with " + std::to_string(code_)}, code{code_} {}

zookeeper_console::zookeeper_console(std::uint16_t port, std::int64_t session, bool end_at_once)
    : socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)}, has_ended_{end_at_once} {
  // The owner of a session that is ended may come between: then the server may say nothing more here.
  const ::timeval limit{end_at_once ? 1 : 60, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = ::htons(port);
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  try {
    if (::connect(socket_, reinterpret_cast<::sockaddr*>(&address), sizeof address) != 0) {
      throw std::system_error{errno, std::generic_category(), "zookeeper"};
    }
    constexpr std::int32_t timeout_ms = 60'000;
    const std::string password = session == 0 ? std::string(16, '\0') : password_of(session);
    send_frame(number(std::int32_t{0}) + number(std::int64_t{0}) + number(timeout_ms) + number(session) +
               text(password) + '\0');
    if (end_at_once) send_frame(number(std::int32_t{1}) + number(end_of_session));
    const std::string answer = read_frame();
    reader r{answer};
    r.number<std::int32_t>();
    if (r.number<std::int32_t>() <= 0) throw no_such_session{};
  } catch (...) {
    ::close(socket_);
    throw;
  }
}

zookeeper_console::~zookeeper_console() {
  try {
    if (has_ended_)
      static_cast<void>(read_frame());  // the answer to the end that was sent along
    else
      ask(end_of_session, {});
  } catch (const std::exception&) {  // the server is gone, and the session will be
  }
  ::close(socket_);
}

void zookeeper_console::end_session(std::uint16_t port, std::int64_t id) {
  // Whoever joins a session makes the server hang up on its owner, who comes back at once and does the same
  // to us. So the end is sent along, and it is over when the server does not know the session any more.
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds{60};
  for (bool over = false; !over;) {
    if (std::chrono::steady_clock::now() > give_up) throw std::runtime_error{"the session does not end"};
    try {
      const zookeeper_console joined{port, id, true};
    } catch (const no_such_session&) {
      over = true;
    } catch (const std::runtime_error&) {  // the owner was quicker
    }
  }
}

void zookeeper_console::log_in(const std::string& user_and_password) {
  ask(100, number(std::int32_t{0}) + text("digest") + text(user_and_password), -4);
}

std::string zookeeper_console::create(const std::string& path, std::string_view data, kind make,
                                      const std::vector<right>& rights) {
  const std::string answer =
      ask(1, text(path) + text(data) + list(rights) + number(static_cast<std::int32_t>(make)));
  return reader{answer}.text();
}

void zookeeper_console::remove(const std::string& path) { ask(2, text(path) + number(std::int32_t{-1})); }

void zookeeper_console::set(const std::string& path, std::string_view data) {
  ask(5, text(path) + text(data) + number(std::int32_t{-1}));
}

void zookeeper_console::set_rights(const std::string& path, const std::vector<right>& rights) {
  ask(7, text(path) + list(rights) + number(std::int32_t{-1}));
}

zookeeper_console::about zookeeper_console::get(const std::string& path) {
  const std::string answer = ask(4, text(path) + '\0');
  reader r{answer};
  about it;
  it.data = r.text();
  r.bytes(4 * 8 + 3 * 4);  // when it was made and written, and how often
  it.session = r.number<std::int64_t>();
  return it;
}

std::vector<std::string> zookeeper_console::children(const std::string& path) {
  std::string answer;
  try {
    answer = ask(8, text(path) + '\0');
  } catch (const refusal& refused) {
    if (refused.code != no_node) throw;
    return {};
  }
  reader r{answer};
  std::vector<std::string> all(static_cast<std::size_t>(r.number<std::int32_t>()));
  for (auto& each : all) each = r.text();
  const auto digits = [](const std::string& node) {
    return node.substr(node.size() - std::min<std::size_t>(10, node.size()));
  };
  std::sort(all.begin(), all.end(),
            [&](const std::string& one, const std::string& two) { return digits(one) < digits(two); });
  return all;
}

std::string zookeeper_console::ask(std::int32_t type, const std::string& body, std::int32_t xid) {
  send_frame(number(xid) + number(type) + body);
  const std::string answer = read_frame();
  reader r{answer};
  r.bytes(4 + 8);
  const auto code = r.number<std::int32_t>();
  if (code != 0) throw refusal{code, "request " + std::to_string(type) + " " + body.substr(0, 100)};
  return std::string{r.rest()};
}

void zookeeper_console::send_frame(const std::string& body) const {
  const std::string frame = text(body);
  std::string_view left{frame};
  while (!left.empty()) {
    const auto sent = ::send(socket_, left.data(), left.size(), MSG_NOSIGNAL);
    if (sent <= 0) throw std::runtime_error{"zookeeper has hung up"};
    left.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::string zookeeper_console::read_frame() const {
  const auto read = [this](std::size_t count) {
    std::string bytes(count, '\0');
    for (std::size_t done = 0; done < count;) {
      const auto got = ::recv(socket_, bytes.data() + done, count - done, 0);
      if (got <= 0) throw std::runtime_error{"zookeeper has hung up"};
      done += static_cast<std::size_t>(got);
    }
    return bytes;
  };
  return read(reader{read(4)}.number<std::uint32_t>());
}

}  // namespace holdfast::test
