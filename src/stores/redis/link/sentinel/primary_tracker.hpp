#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/annotated_mutex.hpp"
#include "runtime/connection_reader.hpp"
#include "runtime/event_loop.hpp"
#include "stores/redis/link/connection.hpp"
#include "stores/redis/link/dial.hpp"
#include "stores/redis/link/sentinel/search.hpp"
#include "stores/redis/link/sentinel/subscription.hpp"
#include "stores/redis/link/settings.hpp"
#include "stores/redis/protocol/server_address.hpp"

namespace holdfast::redis {

/// Where the primary is: where the last search has led the client, and what the Sentinel of the subscription
/// has reported. Any thread.
class whereabouts {
 public:
  /// From now on earlier reports do not count any more: the search may know better.
  void begin_search() {
    const annotated::lock held{mutex_};
    if (report_) earlier_report_ = std::exchange(report_, std::nullopt);
    is_found_ = false;
  }
  /// The search leads to that server. It may have to go on, and lead to another one.
  void lead_to(const server_address& server) {
    const annotated::lock held{mutex_};
    server_ = server;
  }
  /// The client is connected to that server.
  void end_search() {
    const annotated::lock held{mutex_};
    is_found_ = true;
  }
  /// A Sentinel says that the primary is there. \return whether the client is elsewhere.
  [[nodiscard]] bool report(const server_address& primary) {
    const annotated::lock held{mutex_};
    report_ = primary;
    return server_ != report_;
  }
  /// What was reported since the search began, if that is another server than the one to which it led.
  [[nodiscard]] std::optional<server_address> move() const {
    const annotated::lock held{mutex_};
    return report_ && report_ != server_ ? report_ : std::nullopt;
  }
  /// Whether the last report before the search was wrong, once: the search has led elsewhere.
  [[nodiscard]] bool take_wrong_report() {
    const annotated::lock held{mutex_};
    const auto before = std::exchange(earlier_report_, std::nullopt);
    return before && before != server_;
  }
  /// As errors name the server; empty during a search, and after one that failed.
  [[nodiscard]] std::string place() const {
    const annotated::lock held{mutex_};
    return is_found_ && server_ ? server_->place() : std::string{};
  }

 private:
  mutable annotated::mutex mutex_;
  std::optional<server_address> server_ HOLDFAST_GUARDED_BY(mutex_);
  std::optional<server_address> report_ HOLDFAST_GUARDED_BY(mutex_);
  std::optional<server_address> earlier_report_ HOLDFAST_GUARDED_BY(mutex_);
  bool is_found_ HOLDFAST_GUARDED_BY(mutex_) = false;
};

/// Leads a client's connection to the primary that Sentinels monitor, and away from a server that is the
/// primary no more.
class primary_tracker {
 public:
  /// Gives up the client's connection to the server, or makes the next try due (see
  /// runtime::multiplexed_connection::reconnect). Any thread.
  using reconnect = std::function<void(const connection_error&)>;

  primary_tracker(runtime::event_loop& loop, runtime::connection_reader& reader, const settings& of,
                  const tls_context* secure, reconnect action);
  primary_tracker(const primary_tracker&) = delete;
  primary_tracker& operator=(const primary_tracker&) = delete;
  ~primary_tracker() = default;

  /// Subscribes to a Sentinel. \throws holdfast::error errc::exhausted.
  void start() { subscription_.start(); }
  /// Idempotent.
  void stop() { subscription_.stop(); }

  /// Finds the primary and connects to it, as `dial`. Blocks. \throws connection_error.
  [[nodiscard]] connection connect(const wishes& of, int stop);
  /// The connection that `connect` made is in use.
  void on_connected();
  /// As errors name the server.
  [[nodiscard]] std::string place() const;

 private:
  void on_report(const server_address& primary);
  void leave(const server_address& primary);

  const settings& settings_;
  const tls_context* const secure_;
  const reconnect reconnect_;
  whereabouts whereabouts_;
  sentinel_search search_;
  sentinel_subscription subscription_;
};

}  // namespace holdfast::redis
