// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "stores/zookeeper/link/names.hpp"
#include "stores/zookeeper/link/settings.hpp"
#include "stores/zookeeper/protocol/wire.hpp"

// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): the client library's
struct _zhandle;

namespace holdfast::zookeeper {

/// Takes the names of a list from Apache's library. Of a reply that ends too soon the library reports
/// success, with null for each name that was missing.
/// \return nothing if the list is not whole: contenders that are missing in it would not be waited for.
[[nodiscard]] std::optional<std::vector<std::string>> listed_names(const char* const* names, int count);

/// One session, through Apache's C client (its single-threaded variant). Used by one thread at a time. It
/// calls no handlers: results of operations and events are collected as news.
class handle {
 public:
  struct answered {
    wire::on_result handler;
    zookeeper::result result;
  };
  struct happening {
    std::string path;
    zookeeper::change change;
  };
  struct connected {
    std::int64_t id;
    std::chrono::milliseconds timeout;
    store::time_point began;
  };
  struct disconnected {};
  /// This handle cannot connect any more: the servers have ended the session, refused the credentials, or
  /// gave a session that is too short.
  struct over {
    std::optional<failure> refusal{};
  };
  using news = std::variant<answered, happening, connected, disconnected, over>;

  /// \throws runtime::connection_error.
  handle(const settings& s, const addresses& at);
  /// Ends the session at the servers, if there is a connection; waits for at most some seconds.
  ~handle();
  handle(const handle&) = delete;
  handle& operator=(const handle&) = delete;

  void move_to(const addresses& at);
  /// Sends the operation, as far as the socket accepts it.
  void start(const operation& step, wire::on_result handler);

  struct interest {
    int descriptor = -1;
    short events = 0;  // for poll(2)
    std::chrono::milliseconds patience{};
  };
  /// The events to wait for, and the time limit.
  [[nodiscard]] interest wants();
  /// \param events that poll(2) reported.
  void go_on(short events);
  /// Reports the session to be over, of which the servers say nothing.
  void give_up() { news_.emplace_back(over{}); }
  /// Whether sending found the connection broken, which `wants` and `go_on` report as news.
  [[nodiscard]] bool is_cut() const;
  [[nodiscard]] bool has_news() const { return !news_.empty(); }
  [[nodiscard]] std::vector<news> take_news() { return std::exchange(news_, {}); }

  /// Whether as many connections in a row have failed as there are servers.
  [[nodiscard]] bool has_tried_all() const { return failures_ >= servers_; }
  /// The reason why the last connection failed.
  [[nodiscard]] const std::string& last_problem() const { return problem_; }

 private:
  struct pending;
  struct callbacks;

  void note(int code);
  void notice_cut();
  void refuse(std::chrono::milliseconds timeout);
  static void prepare(int socket);
  void go_to_the_next_in_time(interest& i);
  [[nodiscard]] int submit(const operation& step, pending* p);

  const settings& settings_;
  _zhandle* zk_ = nullptr;
  std::vector<news> news_;
  store::time_point attempt_;                 // the begin of the current attempt to connect
  std::optional<store::time_point> dialled_;  // the begin of the attempt with this server
  bool connected_ = false;
  std::size_t servers_;       // the number of servers
  std::size_t failures_ = 0;  // connections in a row that could not be made
  std::size_t left_ = 0;      // of these, those without an answer of the server
  std::string problem_;
};

}  // namespace holdfast::zookeeper
