// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/failure.hpp"
#include "base/owner_id.hpp"
#include "core/machine.hpp"
#include "core/notification.hpp"
#include "holdfast/error.hpp"
#include "runtime/io_deadline.hpp"
#include "stores/sql/protocol/call.hpp"

namespace holdfast::sql {

/// A reason for which nobody connects again: it does not go away by itself.
[[nodiscard]] inline runtime::connection_error permanent(errc code, std::string message) {
  return {failure{code, std::move(message)}, false};
}

/// The result of a call: its rows, or the reason of the refusal.
using answer = std::variant<std::vector<row>, store::request_error>;

/// What a server has notified of. Names are not told to everybody who listens: each belongs to a bucket.
struct changes {
  bool of_any_name = false;
  std::set<std::int64_t> buckets;  // of the names, any of which may have changed
  [[nodiscard]] bool empty() const { return !of_any_name && buckets.empty(); }
};

/// A connection to a database server that is ready for calls. Used by one thread at a time. All functions may
/// throw runtime::connection_error: the connection is over then, and calls without an answer may have been
/// carried out.
class connection {
 public:
  /// \param client whose it is: notifications for it come here; where claims end with their session, this
  /// session alone.
  explicit connection(const owner_id& client) : client_{client} {}
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;
  virtual ~connection() = default;

  [[nodiscard]] const owner_id& client() const { return client_; }
  /// Whether the store has no tables yet, as far as this session knows. Calls of missing routines then return
  /// no rows, and nothing can be claimed.
  [[nodiscard]] bool is_bare() const { return bare_; }
  void expect_nothing() { bare_ = true; }
  [[nodiscard]] virtual int descriptor() const = 0;
  /// The events to poll for. Also without a call in flight the connection receives messages of the server.
  [[nodiscard]] virtual short events() const = 0;
  /// How many calls may be in flight at once.
  [[nodiscard]] virtual std::size_t depth() const = 0;
  /// Begins a call; does not block.
  virtual void send(const call& request) = 0;
  /// Continues as far as possible without blocking. \return the answers, in the order of sending.
  [[nodiscard]] virtual std::vector<answer> proceed() = 0;
  /// Takes out the notifications for this client that came meanwhile.
  [[nodiscard]] virtual std::vector<store::notification> take_notifications() { return {}; }
  /// Why nothing more should be sent, though what was sent is still answered.
  [[nodiscard]] virtual std::optional<runtime::connection_error> ended() const { return std::nullopt; }

  /// For how long the server notifies of changes after a call of `watch` or `watch_name`; none: it has no
  /// such notifications.
  [[nodiscard]] virtual std::optional<duration> notified_for() const { return std::nullopt; }
  /// What the server has notified of since the last call of this function.
  [[nodiscard]] virtual changes take_changes() { return {}; }

 private:
  owner_id client_;
  bool bare_ = false;
};

/// Whether missing tables and routines are made. A client that only inspects makes none.
enum class provision : std::uint8_t { none, tables };

/// Makes a connection. Blocks, within the link's limits.
/// \param client the client that owns the connection.
/// \param former the client whose connections are ended at the server first: the same, unless each connection
/// has its own id.
/// \param make with `none` and without tables, the connection is bare.
/// \param stop an eventfd: gives up as soon as it can be read.
/// \throws runtime::connection_error.
using dialler = std::function<std::unique_ptr<connection>(
    const owner_id& client, const std::optional<owner_id>& former, provision make, int stop)>;

}  // namespace holdfast::sql
