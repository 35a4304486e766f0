#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/link.hpp"
#include "core/request.hpp"
#include "runtime/io_deadline.hpp"
#include "runtime/request_pipeline.hpp"
#include "stores/sql/link/connection.hpp"
#include "stores/sql/protocol/call.hpp"

namespace holdfast::sql {

/// A request, or a call of the link itself.
struct pending_call final : runtime::pending_request<tickets::link::outcome> {
  std::optional<tickets::request> request;  // none: a call of the link itself
  sql::call call;                           // of a request: set when it is sent
  store::time_point sent_at;
  std::optional<answer> result;  // set when it is completed
  std::function<void(const std::vector<row>&)>
      on_rows;  // for a call of the link itself; null: the rows are ignored
};

/// An established connection to a server: see runtime::pipelined_wire.
class wire {
 public:
  using request = pending_call;

  /// \param session where claims end with their session: its timeout.
  /// \param claims whether a claim was made; has to outlive the wire.
  wire(std::unique_ptr<connection> established, std::optional<duration> session,
       const std::atomic<bool>& claims)
      : connection_{std::move(established)}, session_{session}, claims_{claims} {}

  [[nodiscard]] connection& get() const { return *connection_; }

  [[nodiscard]] int descriptor() const { return connection_->descriptor(); }
  [[nodiscard]] short events() const { return connection_->events(); }
  [[nodiscard]] std::size_t depth() const { return retirement() ? 0 : connection_->depth(); }
  [[nodiscard]] static bool needs_ping() { return false; }
  /// The reason to connect again: without tables, the next connection makes them before the first claim.
  [[nodiscard]] std::optional<runtime::connection_error> retirement() const;
  void put(pending_call& c);
  void write_out() {}  // `put` has

 private:
  std::unique_ptr<connection> connection_;
  std::optional<duration> session_;
  const std::atomic<bool>& claims_;
};

}  // namespace holdfast::sql
