// What a client of several servers does if one of them does not answer.

#include "stores/quorum/link/quorum_link.hpp"

#include <array>
#include <atomic>
#include <cstddef>
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

#include "runtime/event_loop.hpp"
#include "stores/redis/protocol/resp.hpp"

namespace holdfast::quorum {
namespace {

using namespace std::chrono_literals;
using outcome = tickets::link::outcome;

/// Serves one connection: lets a client connect, and has every hold of a renewal.
class small_server {
 public:
  /// \param is_mute scripts have no replies.
  explicit small_server(bool is_mute) : is_mute_{is_mute} {
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
  [[nodiscard]] std::string reply_to(const std::string& command) const {
    if (command == "HELLO") return "%2\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n";
    if (command == "SUBSCRIBE") return ">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n";
    if (command == "EVALSHA") return is_mute_ ? "" : "+1\r\n";
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
      while (const auto command = commands.next()) replies += reply_to(command->items.at(0).text);
      ::send(client, replies.data(), replies.size(), MSG_NOSIGNAL);
    }
    ::close(client);
  }

  const bool is_mute_;
  const int listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int port_ = 0;
  std::thread thread_;
};

// Otherwise each caller that leaves would wake the background thread, which reads in place of the next one.
TEST(quorum_link, awaits_no_server_whose_answer_a_majority_has_made_needless) {
  const small_server first{false};
  const small_server second{false};
  const small_server third{true};
  redis::settings of;
  of.quorum = {first.address(), second.address(), third.address()};
  of.answer_limit = of.node_timeout = 1h;
  of.speech.guard = 0ms;
  runtime::event_loop loop;
  quorum_link link{loop, of};
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

}  // namespace
}  // namespace holdfast::quorum
