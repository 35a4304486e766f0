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

#include "base/owner_id.hpp"
#include "core/link.hpp"
#include "core/request.hpp"
#include "runtime/io_deadline.hpp"
#include "runtime/multiplexed_connection.hpp"
#include "runtime/notifying_link.hpp"
#include "runtime/request_pipeline.hpp"
#include "stores/sql/link/change_tracking.hpp"
#include "stores/sql/link/claim_polling.hpp"
#include "stores/sql/link/connection.hpp"
#include "stores/sql/protocol/call.hpp"

namespace holdfast::sql {

/// The settings of links to all database servers.
struct link_settings {
  std::string place;  // the name of the server in errors
  std::chrono::milliseconds connect_limit{5000};
  std::chrono::milliseconds answer_limit{5000};  // an answer that takes longer closes the connection
  std::chrono::milliseconds quiet_limit{15000};  // after so long without an answer the client asks the server
  duration keep_idle{};                          // how long an unused name's last token is remembered
  std::optional<std::chrono::milliseconds> session{};  // claims end with their session: its timeout
  std::optional<polling_settings> polling{};           // the server sends no notifications to its sessions
  bool joins = false;                                  // there are calls about several claims
};

/// A request, or a call of the link itself.
struct pending_call final : runtime::pending_request<tickets::link::outcome, tickets::link::on_reply> {
  std::optional<tickets::request> request;  // none: a call of the link itself
  sql::call call;                           // of a request: set when it is sent
  store::time_point sent_at;
  std::optional<answer> result;  // set when it is completed
  std::function<void(const std::vector<row>*)>
      on_answer;  // for a call of the link itself, null if it was refused; null: the answer is ignored
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

/// Carries requests to a database server, over one multiplexed connection for all calls of a client.
///
/// A statement that the server refuses because of other sessions (deadlock, serialization failure) has not
/// been carried out. It is reported as a retryable error, and the machines try again, with jitter.
///
/// With `mode=session` each connection is a session with its own id. The client relies on a session for its
/// timeout, counted from the sending of the last answered request. After a third of the timeout without a
/// request, the client sends one. When the connection breaks, all holds of the session are lost.
///
/// With `polling` no session of the server is relied on: the connections are told apart by nobody, so a late
/// request of a broken one may still be carried out. See claim_polling.
///
/// Missing tables are made before the first claim. A client that only inspects makes no tables, and finds no
/// locks.
///
/// The most derived class calls `connection().start()` at the end of its constructor, and `shut` at the
/// beginning of its destructor.
class link : public runtime::notifying_link, private runtime::multiplexed_connection<wire>::protocol {
 public:
  void send(tickets::request request, on_reply handler) override;
  void take_back(std::uint64_t request) override {
    connection_.take_back([request](const pending_call& c) { return c.handler.request == request; });
  }
  [[nodiscard]] bool joins(const std::vector<std::string_view>& /*names*/) const override {
    return settings_.joins;
  }
  [[nodiscard]] std::optional<store::time_point> session_until() const override;
  void on_session(const std::function<void()>& handler) override { on_session_ = handler; }
  void help(store::caller& caller) override { connection_.help(caller); }
  bool drive() override {
    connection_.flush();
    return false;
  }
  void kick() override { connection_.kick(); }
  /// Ends the link's threads. Nothing is delivered afterwards. Idempotent.
  void shut() override;

 protected:
  link(runtime::event_loop& loop, link_settings s, dialler dial);

  [[nodiscard]] runtime::multiplexed_connection<wire>& connection() { return connection_; }

  /// Delivers notifications that arrived on another connection. Any thread, without the core lock.
  /// \param client the client to which they are addressed.
  void deliver_notifications_of(const owner_id& client, const notifications& received);

 private:
  using clock = std::chrono::steady_clock;
  using answer_handler = std::function<void(const std::vector<row>*)>;  // null: the server refused the call

  // See runtime::multiplexed_connection::protocol and runtime::notifying_link.
  [[nodiscard]] std::unique_ptr<wire> connect(int stop) override;
  void on_connected() override;
  void read(short ready) override;
  void on_disconnect() override;
  [[nodiscard]] std::unique_ptr<pending_call> ping() const override;
  void track(const store::watched& target, bool on) override { changes_.track(target, on); }
  void ring_for_anything() override { changes_.look(); }

  // The reader:
  void deliver(const notifications& received);
  [[nodiscard]] bool interpret_answers();
  [[nodiscard]] bool proves_session(const pending_call& c) const;
  void take_proof(std::optional<store::time_point> proof);
  [[nodiscard]] outcome outcome_of(pending_call& c) const;
  void sweep_if_due();

  void call_own(call own, answer_handler on_answer = nullptr);
  void call_for_core(call own, answer_handler on_answer);
  void flush_later();
  [[nodiscard]] change_tracking::actions tracking_actions();
  [[nodiscard]] claim_polling::actions polling_actions();

  // Under the core lock:
  void extend_session(store::time_point sent_at);

  const link_settings settings_;
  const owner_id client_ = owner_id::random();  // of all connections, unless each has its own id
  const dialler dial_;
  runtime::multiplexed_connection<wire> connection_;
  bool was_connected_ = false;  // the connecting thread's
  // Under the core lock:
  change_tracking changes_;
  std::optional<claim_polling> polling_;
  clock::time_point next_sweep_;           // the reader's
  store::time_point last_proof_;           // of the session; the reader's
  bool is_proof_due_ = false;              // a ping is queued for it; likewise
  std::optional<owner_id> former_client_;  // of the former connection; the connecting thread's
  std::optional<owner_id> to_abandon_;     // whose claims are removed over the new connection; likewise

  std::atomic<bool> claims_ = false;  // a claim was made
  // Under the core lock:
  std::optional<owner_id> session_;          // whose notifications are valid
  std::optional<store::time_point> proven_;  // the last time at which the session is known to have lived
  store::time_point extended_by_;            // the value at the last call of on_session_
  std::function<void()> on_session_;
};

}  // namespace holdfast::sql
