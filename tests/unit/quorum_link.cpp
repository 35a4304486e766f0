// What a client of several servers does if one of them does not answer.

#include "stores/quorum/link/quorum_link.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <future>
#include <gtest/gtest.h>
#include <memory>
#include <netinet/in.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/event_loop.hpp"
#include "stores/redis/protocol/resp.hpp"
#include "support/request_form.hpp"

namespace holdfast::quorum {
namespace {

using namespace std::chrono_literals;
using outcome = tickets::link::outcome;

/// Serves one connection: lets a client connect.
class small_server {
 public:
  /// What it replies to a script, by the words of its command.
  using script = std::function<std::string(const std::vector<redis::value>& words)>;

  explicit small_server(script answer) : answer_{std::move(answer)} {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    auto* const address = reinterpret_cast<sockaddr*>(&at);
    if (::bind(listening_, address, size) != 0 || ::listen(listening_, 1) != 0 ||
        ::getsockname(listening_, address, &size) != 0)
      throw std::system_error{errno, std::generic_category(), "a server for the test"};
    port_ = ntohs(at.sin_port);
    thread_ = std::thread{[this] { serve(::accept(listening_, nullptr, nullptr)); }};
  }
  ~small_server() {
    ::shutdown(listening_, SHUT_RDWR);
    thread_.join();
    ::close(listening_);
  }
  small_server(const small_server&) = delete;
  small_server& operator=(const small_server&) = delete;

  [[nodiscard]] redis::server_address address() const { return {"127.0.0.1", std::to_string(port_)}; }

 private:
  [[nodiscard]] std::string reply_to(const std::vector<redis::value>& words) const {
    const std::string& command = words.at(0).text;
    if (command == "HELLO") return "%2\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n";
    if (command == "SUBSCRIBE") return ">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n";
    if (command == "EVALSHA") return answer_(words);
    return "_\r\n";
  }
  /// Until the client goes.
  void serve(int client) const {
    redis::parser commands;
    std::array<char, 4096> bytes{};
    ssize_t got = 0;
    while ((got = ::recv(client, bytes.data(), bytes.size(), 0)) > 0) {
      commands.feed({bytes.data(), static_cast<std::size_t>(got)});
      std::string replies;
      while (const auto command = commands.next()) replies += reply_to(command->items);
      ::send(client, replies.data(), replies.size(), MSG_NOSIGNAL);
    }
    ::close(client);
  }

  const script answer_;
  const int listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int port_ = 0;
  std::thread thread_;
};

redis::settings patient(std::vector<redis::server_address> servers) {
  redis::settings of;
  of.quorum = std::move(servers);
  of.answer_limit = of.node_timeout = 1h;
  of.speech.guard = 0ms;
  return of;
}

// Otherwise each caller that leaves would wake the background thread, which reads in place of the next one.
TEST(quorum_link, awaits_no_server_whose_answer_a_majority_has_made_needless) {
  const auto has_every_hold = [](const auto&) { return "+1\r\n"; };
  const small_server first{has_every_hold};
  const small_server second{has_every_hold};
  const small_server third{[](const auto&) { return ""; }};
  runtime::event_loop loop;
  quorum_link link{loop, patient({first.address(), second.address(), third.address()})};
  std::promise<bool> awaited;
  std::promise<outcome> answered;
  {
    const runtime::core_lock now{loop};
    link.send(tickets::renew{{{"stock", owner_id::random(), fencing_token{1}, 1h}}}, [&](outcome o) {
      awaited.set_value(link.is_awaited());
      answered.set_value(std::move(o));
    });
    EXPECT_TRUE(link.is_awaited());
  }
  link.kick();
  auto answer = answered.get_future();
  ASSERT_EQ(answer.wait_for(30s), std::future_status::ready);
  EXPECT_TRUE(std::holds_alternative<tickets::reply>(answer.get()));
  EXPECT_FALSE(awaited.get_future().get());
  link.shut();
}

/// A server on which a claim waits. With the second answer it sends what it has sent before that: a grant,
/// which has ended meanwhile.
class late_server {
 public:
  /// \param on_next called when it is asked after that.
  explicit late_server(std::function<void()> on_next) : on_next_{std::move(on_next)} {}

  [[nodiscard]] redis::server_address address() const { return server_.address(); }

 private:
  std::string reply_to(const std::vector<redis::value>& words) {
    const std::string& token = words.at(12).text;
    if (token == std::string(20, '0')) return "*3\r\n:2\r\n+\r\n+1700000000000000\r\n";  // asks for the clock
    const std::string waits =
        "*7\r\n:0\r\n+" + token + "\r\n:0\r\n:-1\r\n:0\r\n+another\r\n+1700000000000000\r\n";
    const std::string& client = words.at(11).text;  // and its secret
    const std::string secret = client.substr(33, client.find(' ') - 33);
    const std::string about = words.at(7).text + " " + token;
    switch (++votes_) {
      case 1: return waits + message("look " + about);
      case 2: return message("granted " + about + "/" + secret + " 1 " + token + " " + token) + waits;
      default: on_next_(); return waits;
    }
  }
  static std::string message(const std::string& text) { return ">3\r\n+message\r\n+c\r\n+" + text + "\r\n"; }

  const std::function<void()> on_next_;
  int votes_ = 0;
  const small_server server_{[this](const auto& words) { return reply_to(words); }};
};

// A client that stood still reads of a grant behind a later answer, which says that the claim waits.
TEST(quorum_link, counts_no_grant_that_is_older_than_the_answer_read_with_it) {
  std::promise<std::string> came;
  std::atomic<int> events = 0;
  const auto first_event = [&](const char* text) {
    if (events++ == 0) came.set_value(text);
  };
  std::atomic<int> questions = 0;
  const auto on_question = [&] {
    if (++questions == 3) first_event("the servers were asked");
  };
  const late_server first{on_question};
  const late_server second{on_question};
  const late_server third{on_question};
  runtime::event_loop loop;
  quorum_link link{loop, patient({first.address(), second.address(), third.address()})};
  link.on_notifications([&](const store::notification& n) {
    if (n.kind == store::notification_kind::granted) first_event("the claim holds");
  });
  test::request_form form;
  form.kind = test::task::acquire;
  form.name = "stock";
  form.owner = owner_id::random();
  form.ttl = 1h;
  form.wait = true;
  {
    const runtime::core_lock now{loop};
    link.send(form.request(), [](const outcome&) {});
  }
  link.kick();
  auto event = came.get_future();
  ASSERT_EQ(event.wait_for(30s), std::future_status::ready);
  EXPECT_EQ(event.get(), "the servers were asked");
  link.shut();
}

}  // namespace
}  // namespace holdfast::quorum
