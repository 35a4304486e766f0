#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/connection_reader.hpp"
#include "runtime/event_loop.hpp"
#include "stores/redis/link/connection.hpp"
#include "stores/redis/link/dial.hpp"
#include "stores/redis/link/sentinel/search.hpp"
#include "stores/redis/link/sentinel/subscription.hpp"
#include "stores/redis/link/sentinel/whereabouts.hpp"
#include "stores/redis/link/settings.hpp"

namespace holdfast::redis {

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
