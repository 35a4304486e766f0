// SPDX-License-Identifier: Apache-2.0
// How long `holdfast serve` waits for a client: its connections, with limits that are over at once.

#include <atomic>
#include <chrono>
#include <functional>
#include <gmock/gmock.h>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "cli/process.hpp"
#include "cli/serve/http.hpp"
#include "serve/connection.hpp"
#include "serve/tls.hpp"
#include "support/certificates.hpp"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using boost::asio::ip::tcp;

/// More than the kernel takes for a client that does not read.
constexpr std::size_t large = 16 << 20;
constexpr std::size_t middle = 2 * cli::connection_set::small_text;

class serve_limits : public testing::Test, public cli::request_handler {
 public:
  void handle(const cli::http_request& request, const handler& done) override {
    cli::http_reply reply;
    reply.is_event_stream = request.target == "/events";
    reply.is_always_sent = request.target == "/always";
    if (!reply.is_event_stream) reply.body = {made(size_at(request.target))};
    done(std::move(reply));
  }
  [[nodiscard]] cli::text_parts next_event(cli::event_cursor& reader) override {
    return reader.revision++ == 0 ? cli::text_parts{made(large)} : cli::text_parts{};
  }

 protected:
  /// Serves connections, each of which has these limits.
  void serve(const cli::connection_limits& limits, boost::asio::ssl::context* tls = nullptr) {
    accept(limits, tls);
    thread_ = std::jthread{[this] { context_.run(); }};
  }
  ~serve_limits() override {
    context_.stop();
    if (thread_.joinable()) thread_.join();
    connections_.close_all();
  }
  [[nodiscard]] connection connect(int receive_buffer = 0) const {
    return connection{acceptor_.local_endpoint().port(), receive_buffer};
  }
  /// A client that asks for this and reads no more of it than the kernel takes, until it is given up.
  [[nodiscard]] connection stall(const std::string& path) {
    auto limits = none;
    limits.piece = 1ms;
    serve(limits);
    auto stalled = connect(1);
    stalled.send(request_for(path));
    EXPECT_TRUE(eventually([&] { return is_given_up(); }));
    return stalled;
  }
  [[nodiscard]] static std::string request_for(const std::string& path) {
    return "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n";
  }
  /// Whether the last text that was made is still in memory.
  [[nodiscard]] bool is_kept() const { return is_made_ && !last_text_.expired(); }
  [[nodiscard]] bool is_given_up() const { return is_made_ && last_text_.expired(); }

  /// None of them ends anything within a test.
  static constexpr cli::connection_limits none{
      .handshake = 1h, .first_byte = 1h, .request = 1h, .idle = 1h, .piece = 1h, .shutdown = 1h};

 private:
  void accept(const cli::connection_limits& limits, boost::asio::ssl::context* tls) {
    acceptor_.async_accept([this, limits, tls](boost::system::error_code problem, tcp::socket socket) {
      if (problem) return;
      cli::serve_connection(std::move(socket), tls, *this, connections_, limits);
      accept(limits, tls);
    });
  }
  static std::size_t size_at(const std::string& path) {
    return path == "/large" ? large : path == "/middle" || path == "/always" ? middle : 2;
  }
  cli::shared_text made(std::size_t size) {
    auto text = cli::share(std::string(size, 'x'));
    last_text_ = text;
    is_made_ = true;
    return text;
  }

  boost::asio::io_context context_{1};
  tcp::acceptor acceptor_{context_, tcp::endpoint{boost::asio::ip::address_v4::loopback(), 0}};
  cli::connection_set connections_;
  std::weak_ptr<const std::string> last_text_;  // read when is_made_ is set, and written once
  std::atomic<bool> is_made_ = false;
  std::jthread thread_;
};

TEST_F(serve_limits, end_a_connection_without_a_request) {
  auto limits = none;
  limits.first_byte = 1ms;
  serve(limits);
  EXPECT_TRUE(connect().is_ended());
}

TEST_F(serve_limits, end_a_request_that_does_not_come_to_its_end) {
  auto limits = none;
  limits.request = 1ms;
  serve(limits);
  auto slow = connect();
  slow.send("GET / HTTP/1.1\r\nHost: ");
  EXPECT_TRUE(slow.is_ended());
}

TEST_F(serve_limits, end_a_connection_that_is_idle_after_a_reply) {
  auto limits = none;
  limits.idle = 1ms;
  serve(limits);
  auto idle = connect();
  idle.send(request_for("/"));
  EXPECT_EQ(read_reply(idle).status, 200);
  EXPECT_TRUE(idle.is_ended());
}

TEST_F(serve_limits, end_a_handshake_that_does_not_come_to_its_end) {
  const scratch_folder scratch;
  const auto own = certificates{scratch}.issue("server", "IP:127.0.0.1");
  const auto tls = cli::open_tls(own.certificate, own.key);
  auto limits = none;
  limits.handshake = 1ms;
  serve(limits, tls.get());
  EXPECT_TRUE(connect().is_ended());
}

TEST_F(serve_limits, end_a_client_that_does_not_take_its_reply_and_free_the_text) {
  auto stalled = stall("/large");
  EXPECT_LT(read_reply(stalled).body.size(), large);
  EXPECT_TRUE(stalled.is_ended());
}

TEST_F(serve_limits, end_the_reader_of_a_stream_that_does_not_take_its_events) {
  EXPECT_TRUE(stall("/events").is_ended());
}

TEST_F(serve_limits, end_no_reply_by_the_time_that_a_connection_may_be_idle) {
  auto limits = none;
  limits.idle = limits.shutdown = 1ms;
  serve(limits);
  auto slow = connect();
  slow.send(request_for("/large"));
  ASSERT_TRUE(eventually([&] { return is_kept(); }));
  const auto reply = read_reply(slow);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body.size(), large);
}

TEST_F(serve_limits, of_all_texts_leave_room_for_what_is_always_sent) {
  serve(none);
  std::vector<connection> stalled;
  for (int i = 0; i < 2; ++i) {
    stalled.push_back(connect(1));
    stalled.back().send(request_for("/large"));
    EXPECT_NE(stalled.back().read_until("\r\n\r\n"), "") << "its text is being sent";
  }
  const auto status_of = [&](const std::string& path) {
    auto one = connect();
    one.send(request_for(path));
    return read_reply(one).status;
  };
  EXPECT_EQ(status_of("/middle"), 503);
  EXPECT_EQ(status_of("/always"), 200);
}

}  // namespace
}  // namespace holdfast::test
