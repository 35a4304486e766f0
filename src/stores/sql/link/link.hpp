#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/request.hpp"
#include "runtime/multiplexed_connection.hpp"
#include "stores/sql/link/connection.hpp"

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
/// Who is derived from it begins and shuts the line.
class link : public runtime::link_on_line<tickets::request, tickets::reply> {
 public:
  void send(tickets::request what, on_reply done) override;
  [[nodiscard]] std::optional<store::time_point> session_until() const override;
  void on_session(const std::function<void()>& extended) override { extended_ = extended; }
  void shut() override;

 protected:
  link(runtime::event_loop& on, link_settings s, dialler dial);

  /// Words that came on another connection. Any thread, without the core lock. \param client whose they are.
  void deliver_words(const owner_id& client, const words& all);

 private:
  /// A request, or a call of the link's own.
  struct asked final : job_for<outcome> {
    tickets::request request;
    call what;                                           // of a request: once it is on the wire
    store::time_point since;                             // when that was
    std::function<void(const std::vector<row>&)> heard;  // the link's own
    std::optional<answer> said;
    std::vector<row> listed;  // of a listing: the pages before
  };

  // See multiplexed_connection.
  void reconnect(int stop) override;
  void hear(short ready) override;
  [[nodiscard]] job_ptr ping() const override;
  void track(bool on) override;
  [[nodiscard]] int descriptor() const override { return wire_->descriptor(); }
  [[nodiscard]] short events() const override { return wire_->events(); }
  [[nodiscard]] bool has_room(std::size_t owed) const override;
  void put_on_wire(job& j) override;
  void write_out() override;
  void drop_wire() override { wire_.reset(); }
  void on_hang_up() override;

  // The leader:
  [[nodiscard]] bool conclude();
  [[nodiscard]] bool needs_tables() const { return wire_->is_bare() && claims_; }
  [[nodiscard]] outcome understood(const asked& j) const;
  void sweep_if_due();
  [[nodiscard]] bool has_more(asked& j) const;

  void ask(call what, std::function<void(const std::vector<row>&)> heard = nullptr);
  void server_tells();

  // Under the core lock:
  void begin_session(const owner_id& client, store::time_point since);
  void end_session();
  void look_later();
  void track_again();
  void lived(store::time_point sending);

  const link_settings settings_;
  const owner_id client_ = owner_id::random();  // whose connections are, but where each has an id of its own
  const dialler dial_;
  store::scheduler::timer next_look_ =
      0;  // under the core lock; for changes that the server does not tell of
  store::scheduler::timer next_track_ =
      0;  // under the core lock; where the server forgets that changes are to be notified
  clock::time_point next_sweep_;      // the leader's
  std::unique_ptr<connection> wire_;  // with wire_mutex_
  std::optional<owner_id> last_;      // the last connection's client; the line's own thread's

  std::atomic<bool> claims_ = false;  // somebody has wanted to hold something
  // Under the core lock:
  std::optional<owner_id> session_;          // whose words are believed
  std::optional<store::time_point> proven_;  // the last sending that the session is known to have lived at
  store::time_point extended_by_;            // as it was when that was last told
  std::function<void()> extended_;
};

}  // namespace holdfast::sql
