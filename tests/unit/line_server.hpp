// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <fcntl.h>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <variant>
#include <vector>

#include "holdfast/error.hpp"
#include "runtime/multiplexed_connection.hpp"
#include "unit/comes_true.hpp"

namespace holdfast::test {

/// A server without a thread, which answers each line with the same line. Any thread may use it.
class line_server {
 public:
  line_server() = default;
  ~line_server() { disconnect(); }
  line_server(const line_server&) = delete;
  line_server& operator=(const line_server&) = delete;

  /// From now on requests have no replies.
  void mute(bool on) { is_mute_ = on; }
  /// From now on `connect` fails.
  void refuse(bool on) { is_refusing_ = on; }
  /// From now on `connect` blocks.
  void shut() { is_shut_ = true; }
  void open() {
    is_shut_ = false;
    opened_.ring();
  }
  /// The connection breaks.
  void disconnect() {
    const std::lock_guard held{mutex_};
    if (end_ >= 0) ::close(std::exchange(end_, -1));
  }
  /// Sends a line that is no reply.
  void notify() { reply("!"); }
  [[nodiscard]] std::size_t connects() const { return connects_; }
  [[nodiscard]] std::size_t requests() const { return requests_; }

  // The client's side:
  /// \return the client's end of a connection. \throws connection_error when `stop` can be read.
  [[nodiscard]] int connect(int stop) {
    ++connects_;
    if (is_refusing_) throw runtime::connection_error{{errc::unavailable, "refused"}};
    while (is_shut_) {
      std::array<pollfd, 2> fds{pollfd{stop, POLLIN, 0}, pollfd{opened_.descriptor(), POLLIN, 0}};
      ::poll(fds.data(), fds.size(), -1);
      if (fds[0].revents != 0)
        throw runtime::connection_error{{errc::closed, "the client was closed"}, false};
    }
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
      throw std::system_error{errno, std::generic_category()};
    }
    disconnect();
    const std::lock_guard held{mutex_};
    end_ = ends[0];
    return ends[1];
  }
  void receive(const std::string& line) {
    if (!is_mute_) reply(line);
    ++requests_;
  }

 private:
  void reply(const std::string& line) {
    const std::string bytes = line + "\n";
    const std::lock_guard held{mutex_};
    if (end_ >= 0) ::send(end_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

  std::atomic<bool> is_mute_ = false;
  std::atomic<bool> is_shut_ = false;
  std::atomic<bool> is_refusing_ = false;
  std::atomic<std::size_t> connects_ = 0;
  std::atomic<std::size_t> requests_ = 0;
  runtime::wakeup_fd opened_;
  std::mutex mutex_;
  int end_ = -1;
};

using line_outcome = std::variant<std::string, store::request_error>;

struct line_request final : runtime::pending_request<line_outcome> {
  std::string text;
};

class line_wire {
 public:
  using request = line_request;

  line_wire(line_server& server, int descriptor) : server_{server}, descriptor_{descriptor} {}
  ~line_wire() { ::close(descriptor_); }
  line_wire(const line_wire&) = delete;
  line_wire& operator=(const line_wire&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] short events() const { return POLLIN; }
  [[nodiscard]] std::size_t depth() const { return 1024; }
  [[nodiscard]] bool needs_ping() const { return false; }
  [[nodiscard]] std::optional<runtime::connection_error> retirement() const { return std::nullopt; }
  void put(const line_request& r) { server_.receive(r.text); }
  void write_out() {}

  /// \throws connection_error when the server has closed the connection.
  [[nodiscard]] std::vector<std::string> lines() {
    std::array<char, 4096> buffer{};
    const auto n = ::recv(descriptor_, buffer.data(), buffer.size(), 0);
    if (n == 0) throw runtime::connection_error{{errc::unavailable, "closed by the server"}};
    if (n > 0) rest_.append(buffer.data(), static_cast<std::size_t>(n));
    std::vector<std::string> all;
    for (auto end = rest_.find('\n'); end != rest_.npos; end = rest_.find('\n')) {
      all.push_back(rest_.substr(0, end));
      rest_.erase(0, end + 1);
    }
    return all;
  }

 private:
  line_server& server_;
  const int descriptor_;
  std::string rest_;
};

/// A client's connection to a line_server.
class line_node final : public runtime::multiplexed_connection<line_wire>::protocol {
 public:
  using handler = std::function<void(line_outcome)>;

  line_node(runtime::event_loop& loop, runtime::connection_reader& reader, line_server& server,
            std::chrono::milliseconds answer_limit = std::chrono::seconds{30},
            std::size_t batch_above = std::numeric_limits<std::size_t>::max())
      : loop_{loop},
        server_{server},
        connection_{loop, reader, *this, {"server", answer_limit, answer_limit, batch_above}} {
    connection_.start();
  }
  ~line_node() { connection_.stop(); }
  line_node(const line_node&) = delete;
  line_node& operator=(const line_node&) = delete;

  void push(std::string text, handler on_reply) {
    auto r = std::make_unique<line_request>();
    r->text = std::move(text);
    r->handler = std::move(on_reply);
    connection_.push(std::move(r), true);
  }
  void send(std::string text, handler on_reply) {
    {
      const runtime::core_lock now{loop_};
      push(std::move(text), std::move(on_reply));
    }
    connection_.kick();
  }
  /// Blocks.
  [[nodiscard]] line_outcome ask(std::string text) {
    const auto caller = std::make_shared<store::caller>();
    line_outcome reply;
    {
      const runtime::core_lock now{loop_, true};
      push(std::move(text), [&reply, caller](line_outcome o) {
        reply = std::move(o);
        caller->serve();
      });
    }
    connection_.help(*caller);
    return reply;
  }

  [[nodiscard]] runtime::multiplexed_connection<line_wire>& connection() { return connection_; }
  [[nodiscard]] int notified() const { return notified_; }
  /// Calls it at the end of each reading.
  void on_read(std::function<void()> action) { on_read_ = std::move(action); }

 private:
  [[nodiscard]] std::unique_ptr<line_wire> connect(int stop) override {
    return std::make_unique<line_wire>(server_, server_.connect(stop));
  }
  void on_connected() override {}
  [[nodiscard]] std::unique_ptr<line_request> ping() const override {
    auto r = std::make_unique<line_request>();
    r->text = "ping";
    return r;
  }
  void read(short /*ready*/) override {
    {
      auto line = connection_.lock();
      std::vector<std::string> lines = line->lines();
      for (std::string& text : lines) {
        connection_.on_success();
        line.heard();
        if (text == "!") {
          ++notified_;
        } else {
          line.first_in_flight()->outcome = std::move(text);
          line.finish_first();
        }
      }
    }
    {
      const runtime::core_lock now{loop_, true};
      connection_.run_handlers();
    }
    connection_.forget_completed();
    if (on_read_) on_read_();
  }

  runtime::event_loop& loop_;
  line_server& server_;
  std::atomic<int> notified_ = 0;
  std::function<void()> on_read_;
  runtime::multiplexed_connection<line_wire> connection_;
};

}  // namespace holdfast::test
