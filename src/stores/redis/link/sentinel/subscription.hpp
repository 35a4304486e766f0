#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/connection_reader.hpp"
#include "runtime/event_loop.hpp"
#include "runtime/multiplexed_connection.hpp"
#include "stores/redis/link/sentinel/search.hpp"
#include "stores/redis/link/settings.hpp"
#include "stores/redis/link/wire.hpp"
#include "stores/redis/protocol/server_address.hpp"

namespace holdfast::redis {

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

/// A connection to one of the Sentinels, which notifies the client when the primary is another server.
///
/// A notification is a hint: the Sentinel is asked, and its answer is reported. So is the answer that it
/// gives when the subscription begins, since notifications may have been missed before.
class sentinel_subscription final : private runtime::multiplexed_connection<wire>::protocol {
 public:
  /// Called with the address that a Sentinel gives, without the core lock, by a thread of the reader.
  using on_report = std::function<void(const server_address&)>;

  sentinel_subscription(runtime::event_loop& loop, runtime::connection_reader& reader,
                        sentinel_search& search, const settings& of, on_report handler);
  ~sentinel_subscription() { stop(); }
  sentinel_subscription(const sentinel_subscription&) = delete;
  sentinel_subscription& operator=(const sentinel_subscription&) = delete;

  /// \throws holdfast::error errc::exhausted.
  void start() { connection_.start(); }
  /// No report comes afterwards. Idempotent.
  void stop() { connection_.stop(); }
  /// Leaves this Sentinel for another, whose answers lead to the primary.
  void leave_sentinel();

 private:
  // See runtime::multiplexed_connection::protocol.
  [[nodiscard]] std::unique_ptr<wire> connect(int stop) override;
  void on_connected() override;
  void begin_reading() override;
  void read(short ready) override;
  void on_disconnect() override { search_.put(sentinel_, false); }
  [[nodiscard]] std::unique_ptr<pending_command> ping() const override;
  [[nodiscard]] std::string place() const override;

  // The reader:
  void read_all();
  /// \return whether the primary has another address, as a notification says.
  [[nodiscard]] bool match(std::vector<value> messages);
  void take_answer(const value& reply);
  void ask();

  sentinel_search& search_;
  const settings& settings_;
  const on_report on_report_;
  const std::string question_;
  const dialect no_guard_;
  const guard_marker no_marker_;
  server_address primary_;                 // the connecting thread's
  std::atomic<std::size_t> sentinel_ = 0;  // the one that it is connected to
  std::vector<char> buffer_;               // the reader's, as the rest
  question_limit limit_;
  bool is_asking_ = false;
  bool has_to_ask_again_ = false;
  runtime::multiplexed_connection<wire> connection_;
};

}  // namespace holdfast::redis
