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

// The client library's. NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
struct _zhandle;
struct ACL_vector;
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace holdfast::zookeeper {

/// One session, through Apache's C client (its single-threaded variant). Used by one thread at a time; it
/// calls nobody: what comes of an operation, and what the servers say, is gathered as news.
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
  struct ended {};     // by the servers: no connection comes of this handle any more
  struct shut_out {};  // the servers do not accept who we are; likewise
  using news = std::variant<answered, happening, connected, disconnected, ended, shut_out>;

  /// \throws runtime::connection_error.
  handle(const settings& s, const addresses& at);
  /// Ends the session at the servers, if there is a connection; waits for at most some seconds.
  ~handle();
  handle(const handle&) = delete;
  handle& operator=(const handle&) = delete;

  void move_to(const addresses& at);
  /// Sends it, as far as the socket takes it.
  void start(const operation& step, wire::on_result handler);

  struct interest {
    int descriptor = -1;
    short events = 0;  // as poll(2) has them
    std::chrono::milliseconds patience{};
  };
  /// What to wait for, and how long at most.
  [[nodiscard]] interest wants();
  /// \param events that poll(2) reported.
  void go_on(short events);
  /// A sending has found the connection broken, which `wants` and `go_on` have as news.
  [[nodiscard]] bool is_cut() const;
  [[nodiscard]] bool has_news() const { return !news_.empty(); }
  [[nodiscard]] std::vector<news> take_news() { return std::exchange(news_, {}); }

  /// As many connections in a row could not be made as there are servers.
  [[nodiscard]] bool has_tried_all() const { return failures_ >= servers_; }
  /// Why the last one could not.
  [[nodiscard]] const std::string& last_problem() const { return problem_; }

 private:
  struct pending;
  struct callbacks;

  void note(int code);
  void notice_cut();
  [[nodiscard]] std::chrono::milliseconds patience_with_each() const;
  void go_to_the_next_in_time(interest& i);
  [[nodiscard]] int submit(const operation& step, pending* p);
  [[nodiscard]] const ACL_vector* acl() const;

  const settings& settings_;
  _zhandle* zk_ = nullptr;
  std::vector<news> news_;
  store::time_point attempt_;                 // since when it has been trying to connect
  std::optional<store::time_point> dialled_;  // since when it has been trying this server
  bool connected_ = false;
  std::size_t servers_;       // that are tried in turn
  std::size_t failures_ = 0;  // connections in a row that could not be made
  std::size_t left_ = 0;      // of these, because the server said nothing
  std::string problem_;
};

}  // namespace holdfast::zookeeper
