#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "core/machine.hpp"
#include "stores/redis/protocol/dialect.hpp"
#include "stores/redis/protocol/value.hpp"

namespace holdfast::redis {

/// Whether the server of a connection has to wait before it grants anything.
///
/// Redis replicates asynchronously. A replica that was promoted does not know the last grants, and a server
/// that came back without its memory knows none. Such a server grants nothing new for a guard time, which is
/// at least the longest ttl in use. By then every hold that it does not know has ended. Holders that it knows
/// go on, since renewals are no grants.
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
    std::chrono::milliseconds length;  // of the whole guard
  };

  /// Appends the command that asks the server.
  /// \param in_full with the text of the script, not with its digest.
  static void append_question(std::string& out, const dialect& in, bool in_full);
  /// Takes the reply. \return the error of a server that does not answer the question.
  [[nodiscard]] std::optional<store::request_error> hear(const value& reply, const dialect& in,
                                                         store::time_point now);

  /// Empty: the server grants.
  [[nodiscard]] std::optional<pause> pause_at(store::time_point now) const;
  /// The same, by the clock of this process.
  [[nodiscard]] std::optional<pause> pause_now() const {
    return until_ == store::time_point{} ? std::nullopt : pause_at(boot_clock::now());
  }

 private:
  static constexpr std::int64_t longest_ms = std::int64_t{400} * 24 * 3600 * 1000;

  store::time_point until_{};  // on this client's clock: later than on the server's
  store::time_point since_{};
  std::string cause_;
  std::chrono::milliseconds length_{};
};

}  // namespace holdfast::redis
