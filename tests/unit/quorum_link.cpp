// SPDX-License-Identifier: Apache-2.0
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

/// A server on which claims wait.
class voting_server {
 public:
  struct vote {
    std::string owner;
    std::string waits;  // the answer
    std::string look;   // messages to the claim
    std::string grant;
  };
  /// \param answer what it sends when it is asked for a vote.
  explicit voting_server(std::function<std::string(const vote& of)> answer) : answer_{std::move(answer)} {}

  [[nodiscard]] redis::server_address address() const { return server_.address(); }

 private:
  [[nodiscard]] std::string reply_to(const std::vector<redis::value>& words) const {
    const std::string& token = words.at(12).text;
    if (token == std::string(20, '0')) return "*3\r\n:2\r\n+\r\n+1700000000000000\r\n";  // asks for the clock
    const std::string& client = words.at(11).text;                                       // and its secret
    const std::string secret = client.substr(33, client.find(' ') - 33);
    const std::string about = words.at(7).text + " " + token;
    return answer_({words.at(7).text,
                    "*7\r\n:0\r\n+" + token + "\r\n:0\r\n:-1\r\n:0\r\n+another\r\n+1700000000000000\r\n",
                    message("look " + about),
                    message("granted " + about + "/" + secret + " 1 " + token + " " + token)});
  }
  static std::string message(const std::string& text) { return ">3\r\n+message\r\n+c\r\n+" + text + "\r\n"; }

  const std::function<std::string(const vote&)> answer_;
  const small_server server_{[this](const auto& words) { return reply_to(words); }};
};

/// What happens first to a claim that waits.
class quorum_link_votes : public testing::Test {
 protected:
  void first_event(const char* text) {
    if (events_++ == 0) came_.set_value(text);
  }
  /// \param names of which each is claimed, in this order.
  std::string first_event_of(const std::vector<std::string>& names,
                             const std::function<std::string(const voting_server::vote&)>& answer) {
    const voting_server first{answer};
    const voting_server second{answer};
    const voting_server third{answer};
    runtime::event_loop loop;
    quorum_link link{loop, patient({first.address(), second.address(), third.address()})};
    link.on_notifications([&](const store::notification& n) {
      if (n.kind == store::notification_kind::granted) first_event("the claim holds");
    });
    test::request_form form;
    form.kind = test::task::acquire;
    form.ttl = 1h;
    form.wait = true;
    {
      const runtime::core_lock now{loop};
      for (const std::string& name : names) {
        form.name = name;
        form.owner = owner_id::random();
        link.send(form.request(), [](const outcome&) {});
      }
    }
    link.kick();
    auto event = came_.get_future();
    const bool is_there = event.wait_for(30s) == std::future_status::ready;
    link.shut();
    return is_there ? event.get() : "nothing";
  }

 private:
  std::promise<std::string> came_;
  std::atomic<int> events_ = 0;
};

// A client that stood still reads of a grant behind a later answer, which says that the claim waits.
TEST_F(quorum_link_votes, are_no_grants_that_are_older_than_an_answer_about_the_place) {
  std::atomic<int> questions = 0;
  const auto answer = [this, &questions, votes = 0](const voting_server::vote& of) mutable {
    switch (++votes) {
      case 1: return of.waits + of.look;
      case 2: return of.grant + of.waits;  // it has ended meanwhile
      default:
        if (++questions == 3) first_event("the servers were asked");
        return of.waits;
    }
  };
  EXPECT_EQ(first_event_of({"stock"}, answer), "the servers were asked");
}

TEST_F(quorum_link_votes, are_grants_that_are_read_together_with_answers_to_others) {
  const auto answer = [this, of_first = voting_server::vote{}](const voting_server::vote& of) mutable {
    if (of_first.owner == of.owner) first_event("a server was asked again");
    if (!of_first.owner.empty()) return of_first.grant + of.waits;
    of_first = of;
    return of.waits;
  };
  EXPECT_EQ(first_event_of({"stock", "orders"}, answer), "the claim holds");
}

}  // namespace
}  // namespace holdfast::quorum
