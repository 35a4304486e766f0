// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/machine.hpp"
#include "core/request.hpp"
#include "stores/redis/protocol/dialect.hpp"
#include "stores/redis/protocol/resp.hpp"

namespace holdfast::redis {

/// Which key of a server keeps the marker of its failover guard. In a cluster it has to lie in a slot of that
/// server, and the slots of a server change. Any thread.
class guard_marker {
 public:
  /// \param slot one that the server has; empty: none is known.
  void move_to(std::optional<std::uint16_t> slot) { place_ = slot ? int{*slot} : nowhere; }
  /// Whether the server can be asked.
  [[nodiscard]] bool is_known() const { return place_ != nowhere; }
  /// Whether it may move.
  [[nodiscard]] bool is_in_slot() const { return place_ >= 0; }
  [[nodiscard]] std::string key(std::string_view prefix) const;

 private:
  static constexpr int whole_server = -1;
  static constexpr int nowhere = -2;
  std::atomic<int> place_ = whole_server;  // or a slot
};

/// Whether a server has each write on its disk before its reply, by its settings. Then it remembers its
/// grants when it starts again.
enum class kept_writes : std::uint8_t { unknown, no, yes };
/// \param settings the reply to `CONFIG GET *append*`.
[[nodiscard]] kept_writes kept_writes_in(const value& settings);

/// Whether the server of a connection has to wait before it grants anything.
///
/// Redis replicates asynchronously. A replica that was promoted does not know the last grants, and a server
/// that came back without its memory knows none. Such a server grants nothing new for a guard time, which is
/// at least the longest ttl in use. By then every hold that it does not know has ended. Holders that it knows
/// go on, since renewals are no grants.
///
/// The former primary may go on for a while for clients that are connected to it. It ends a hold that is not
/// renewed there, and grants the name. So a renewal by the new primary must not count before the former one
/// takes no writes any more: until then the new one answers the question with an error, and is not used.
///
/// The server is asked on each connection before its first claim, and again before a request if a second has
/// passed since, because the connection may have outlived a demotion and a promotion. What it answers lies in
/// the server itself (lua/guard.lua), so that a client keeps the guard that was not there at the promotion.
class failover_guard {
 public:
  /// What it does to a request that could grant something.
  struct pause {
    failure reason;  // with the time that is left
    std::chrono::milliseconds left;
    std::chrono::milliseconds ends;  // by the server's clock, since 1970
  };

  failover_guard() = default;
  /// \param marker a copy of what the server's marker said, as `marker` of a former connection: in a cluster
  /// the marker itself may have gone with its slot.
  explicit failover_guard(std::string marker) : marker_{std::move(marker)} {}

  /// Appends the command that asks the server. Its marker may have moved, or its settings have just been
  /// read.
  /// \param in_full with the text of the script, not with its digest.
  void append_question(std::string& out, const dialect& in, bool in_full, const guard_marker& at,
                       kept_writes writes = kept_writes::unknown) const;
  [[nodiscard]] const std::string& marker() const { return marker_; }
  /// Takes the reply. \return the error of a server that does not answer the question.
  [[nodiscard]] std::optional<store::request_error> hear(const value& reply, const dialect& in,
                                                         store::time_point now, const guard_marker& at = {});

  /// Empty: the server grants.
  [[nodiscard]] std::optional<pause> pause_at(store::time_point now) const;
  /// The same, by the clock of this process.
  [[nodiscard]] std::optional<pause> pause_now() const {
    return until_ == store::time_point{} ? std::nullopt : pause_at(boot_clock::now());
  }

 private:
  static constexpr std::size_t longest_marker = 200;
  static constexpr std::int64_t longest_ms = std::int64_t{400} * 24 * 3600 * 1000;
  static constexpr std::int64_t latest_ms = (std::int64_t{1} << 53) / 1000;  // a script counts it in us

  store::time_point until_{};  // on this client's clock: later than on the server's
  store::time_point since_{};
  std::string cause_;
  std::chrono::milliseconds ends_{};
  std::string marker_;
  std::string option_;  // as the URL names it, and how long another client's is if that counts
};

/// A hold that outlasts the guard could be forgotten in a failover, and be granted again while it is held.
/// \return why the claim is not made; empty: it may be made.
[[nodiscard]] std::optional<failure> outlasts_guard(const tickets::request& request, const dialect& in);

}  // namespace holdfast::redis
