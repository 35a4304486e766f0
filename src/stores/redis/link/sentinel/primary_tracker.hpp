// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/annotated_mutex.hpp"
#include "runtime/connection_reader.hpp"
#include "runtime/event_loop.hpp"
#include "runtime/multiplexed_connection.hpp"
#include "stores/redis/link/connection.hpp"
#include "stores/redis/link/sentinel/search.hpp"
#include "stores/redis/link/settings.hpp"
#include "stores/redis/link/wire.hpp"
#include "stores/redis/protocol/server_address.hpp"

namespace holdfast::redis {

/// The address of the primary: what the last search has found, and what the Sentinel of the subscription has
/// reported. Any thread.
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

/// How often a Sentinel's notifications make the client ask: notifications cost nothing to whoever forges
/// them. A bucket of tokens, refilled with time.
class question_limit {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// \return whether one more question may be asked.
  [[nodiscard]] bool take(time_point now);

 private:
  static constexpr int most = 8;
  static constexpr std::chrono::seconds refill{1};  // for each token

  int tokens_ = most;
  time_point refilled_{};
};

/// Leads a client's connection to the primary that Sentinels monitor, and away from a server that is the
/// primary no more.
///
/// A second connection, to one of the Sentinels, is subscribed to their notifications. A notification is a
/// hint: the Sentinel is asked, and its answer counts. So does the answer that it gives when the subscription
/// begins, since notifications may have been missed before.
class primary_tracker final : private runtime::multiplexed_connection<wire>::protocol {
 public:
  /// Gives up the client's connection to the server, or makes the next try due (see
  /// runtime::multiplexed_connection::reconnect). Any thread.
  using reconnect = std::function<void(const connection_error&)>;

  primary_tracker(runtime::event_loop& loop, runtime::connection_reader& reader, const settings& of,
                  const tls_context* secure, reconnect action);
  ~primary_tracker() { stop(); }
  primary_tracker(const primary_tracker&) = delete;
  primary_tracker& operator=(const primary_tracker&) = delete;

  /// Subscribes to a Sentinel. \throws holdfast::error errc::exhausted.
  void start() { subscription_.start(); }
  /// Idempotent.
  void stop() { subscription_.stop(); }

  /// Finds the primary and connects to it, as `dial`. Blocks. \throws connection_error.
  [[nodiscard]] connection connect_to_primary(const wishes& of, int stop);
  /// The connection that `connect_to_primary` made is in use.
  void on_primary_connected();
  /// As errors name the server.
  [[nodiscard]] std::string place_of_primary() const;

 private:
  // See runtime::multiplexed_connection::protocol: the subscription.
  [[nodiscard]] std::unique_ptr<wire> connect(int stop) override;
  void on_connected() override { on_report(named_); }
  void begin_reading() override;
  void read(short ready) override;
  void on_disconnect() override { search_.put(sentinel_, false); }
  [[nodiscard]] std::unique_ptr<pending_command> ping() const override;
  [[nodiscard]] std::string place() const override;

  /// The Sentinel of the subscription has named the primary. Without the core lock.
  void on_report(const server_address& primary);
  void leave(const server_address& primary);

  // The reader:
  void read_all();
  /// \return whether the primary has another address, as a notification says.
  [[nodiscard]] bool match(std::vector<value> messages);
  void take_answer(const value& reply);
  void ask();

  const settings& settings_;
  const tls_context* const secure_;
  const reconnect reconnect_;
  whereabouts whereabouts_;
  sentinel_search search_;
  const std::string question_;
  const dialect no_guard_;
  const guard_marker no_marker_;
  server_address named_;                   // when the subscription began: the connecting thread's
  std::atomic<std::size_t> sentinel_ = 0;  // the one that it is connected to
  std::vector<char> buffer_;               // the reader's, as the rest
  question_limit limit_;
  bool is_asking_ = false;
  bool has_to_ask_again_ = false;
  runtime::multiplexed_connection<wire> subscription_;
};

}  // namespace holdfast::redis
