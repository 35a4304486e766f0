#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/owner_id.hpp"
#include "core/request.hpp"
#include "runtime/multiplexed_link.hpp"
#include "stores/sql/link/connection.hpp"
#include "stores/sql/link/wire.hpp"

namespace holdfast::sql {

/// What links to all database servers want to know.
struct link_settings {
  std::string place;  // as errors name the server
  std::chrono::milliseconds connect_limit{5000};
  std::chrono::milliseconds answer_limit{5000};  // a server that owes an answer for longer is taken for gone
  std::chrono::milliseconds quiet_limit{15000};  // after so long without a word it is asked whether it lives
  duration keep_idle{};                          // how long an unused name's last token is remembered
  std::optional<std::chrono::milliseconds> session{};  // claims end with their session: its timeout
};

/// Carries requests to a database server, over one multiplexed connection for all calls of a client.
///
/// What the server refuses because of others (a deadlock's victim, a serialization failure) has not been
/// carried out; it is told as passing trouble, and tried again, with jitter, by the machines.
///
/// Where claims end with their session, each connection is one, under an id of its own. It is believed in for
/// the session's timeout from the sending of the last request that was answered, and asked for whenever it
/// has been silent for a third of that. When the connection breaks, all that it held is lost.
///
/// Tables that are not there are made before the first claim: a client that only looks makes nothing, and
/// finds nothing.
///
/// See runtime::multiplexed_link for what a derived class has to do.
class link : public runtime::multiplexed_link<tickets::request, tickets::reply, wire> {
 public:
  void send(tickets::request request, on_reply handler) override;
  [[nodiscard]] std::optional<store::time_point> session_until() const override;
  void on_session(const std::function<void()>& handler) override { on_session_ = handler; }
  void shut() override;

 protected:
  link(runtime::event_loop& loop, link_settings s, dialler dial);

  /// Notifications that came on another connection. Any thread, without the core lock.
  /// \param client the one that they are for.
  void deliver_notifications_of(const owner_id& client, const notifications& received);

 private:
  using clock = std::chrono::steady_clock;
  using rows_handler = std::function<void(const std::vector<row>&)>;

  // See runtime::multiplexed_connection::protocol and runtime::multiplexed_link.
  [[nodiscard]] std::unique_ptr<wire> connect(int stop) override;
  void on_connected() override;
  void read(short ready) override;
  void on_disconnect() override;
  [[nodiscard]] std::unique_ptr<pending_call> ping() const override;
  void track(bool on) override;

  // The reader:
  [[nodiscard]] bool interpret_answers();
  [[nodiscard]] outcome outcome_of(const pending_call& c) const;
  void sweep_if_due();
  [[nodiscard]] static bool has_more(pending_call& c);

  void call_own(call own, rows_handler on_rows = nullptr);
  [[nodiscard]] std::optional<call> tracking_call(bool on);
  void server_notifies();

  // Under the core lock:
  void begin_session(const owner_id& client, store::time_point since);
  void end_session();
  void look_later();
  void track_again();
  void extend_session(store::time_point sent_at);

  const link_settings settings_;
  const owner_id client_ = owner_id::random();  // of all connections, but where each has an id of its own
  const dialler dial_;
  // Under the core lock:
  store::scheduler::timer next_look_ = 0;   // for changes of which the server does not notify
  store::scheduler::timer next_track_ = 0;  // where the server forgets that changes are to be notified
  clock::time_point next_sweep_;            // the reader's
  std::optional<owner_id> former_client_;   // of the former connection; the connecting thread's
  std::optional<owner_id> to_abandon_;      // whose claims are removed over the new connection; likewise

  std::atomic<bool> claims_ = false;  // somebody has wanted to hold something
  // Under the core lock:
  std::optional<owner_id> session_;          // whose notifications are believed
  std::optional<store::time_point> proven_;  // the last sending that the session is known to have lived at
  store::time_point extended_by_;            // as it was when on_session_ was last called
  std::function<void()> on_session_;
};

}  // namespace holdfast::sql
