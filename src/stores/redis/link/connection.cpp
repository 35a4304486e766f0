#include "stores/redis/link/connection.hpp"

#include <array>
#include <cstddef>
#include <poll.h>
#include <utility>

#include "stores/redis/protocol/server_answers.hpp"

namespace holdfast::redis {

namespace {

/// More notifications than that before an answer are none that this client has caused.
constexpr std::size_t most_early = 10'000;

/// SUBSCRIBE is answered by a push.
bool is_confirmation(const value& v) { return !v.items.empty() && v.items[0].text == "subscribe"; }

/// The server's error reply to the greeting, without the password: servers and proxies repeat the command,
/// some of them shortened.
std::string without_password(std::string error, const std::string& password) {
  constexpr std::size_t shortest_part = 4;  // of a shortened password
  if (password.empty()) return error;
  const std::string_view begin = std::string_view{password}.substr(0, shortest_part);
  for (auto at = error.find(begin); at != std::string::npos; at = error.find(begin, at + 3)) {
    std::size_t same = begin.size();
    while (same < password.size() && at + same < error.size() && error[at + same] == password[same]) ++same;
    error.replace(at, same, "***");
  }
  return error;
}

[[noreturn]] void refuse(const std::string& error) {
  if (error.starts_with("ERR unknown command") || error.starts_with("NOPROTO")) {
    throw connection_error{
        {errc::unavailable,
         "the server does not speak RESP3 (HELLO 3); Holdfast needs Redis 6 or newer, or Valkey"},
        false};
  }
  store::request_error t = request_error_of(error);
  const bool full = error.find("max number of clients") != std::string::npos;
  throw connection_error{std::move(t.reason), t.retryable || full};
}

}  // namespace

void introduction::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t n = with_.stream->write_some(bytes);
    bytes.remove_prefix(n);
    if (n == 0) limit_.wait(with_.stream->descriptor(), POLLOUT);
  }
}

value introduction::hear() {
  while (true) {
    if (auto v = with_.parser.next()) {
      if (!v->is(value::kind::push) || is_confirmation(*v)) return std::move(*v);
      if (with_.early.size() == most_early) throw parser::garbage{"notifications instead of an answer"};
      with_.early.push_back(std::move(*v));
      continue;
    }
    limit_.require_time();
    std::array<char, 4096> bytes{};
    const std::size_t n = with_.stream->read_some(bytes.data(), bytes.size());
    with_.parser.feed({bytes.data(), n});
    if (n == 0)
      limit_.wait(with_.stream->descriptor(), with_.stream->reading_wants_to_write() ? POLLOUT : POLLIN);
  }
}

value introduction::ask(std::initializer_list<std::string_view> arguments) {
  std::string question;
  append(question, arguments);
  send(question);
  return hear();
}

void append_hello(std::string& out, const std::optional<login_data>& login) {
  if (login)
    append(out, {"HELLO", "3", "AUTH", login->user, login->password});
  else
    append(out, {"HELLO", "3"});
}

void require_no_error(const value& reply, const std::optional<login_data>& login) {
  if (reply.is(value::kind::error)) refuse(without_password(reply.text, login ? login->password : ""));
}

const value* field_of(const value& hello, std::string_view name) {
  for (std::size_t i = 0; i + 1 < hello.items.size(); i += 2) {
    if (hello.items[i].text == name) return &hello.items[i + 1];
  }
  return nullptr;
}

}  // namespace holdfast::redis
