// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "simulation/line.hpp"
#include "simulation/standing.hpp"
#include "simulation/zookeeper/ensemble.hpp"
#include "simulation/zookeeper/faulty_wire.hpp"
#include "stores/zookeeper/protocol/session.hpp"

namespace holdfast::sim {

/// A client's end: the real session over a connection to one server after another. As link/zookeeper and
/// Apache's C client behind it do: what is sent without a connection waits for one, until all servers have
/// been tried; what has no answer when the connection breaks may have been carried out; a client that has
/// heard nothing for two thirds of the timeout goes elsewhere, in the same session, and watches again what it
/// watched.
class zookeeper_link final : public tickets::link, private zookeeper::wire {
 public:
  struct options {
    zookeeper::session::settings recipes;
    duration timeout{};
    mutant with = mutant::none;
    /// Under which id a session is to know an owner: some are drawn from the kernel, and a seed has to go the
    /// same way always.
    std::function<owner_id(const owner_id&)> alias{};
  };
  zookeeper_link(ensemble& to, scene& in, host& from, line& over, options o);
  ~zookeeper_link() override;
  zookeeper_link(const zookeeper_link&) = delete;
  zookeeper_link& operator=(const zookeeper_link&) = delete;

  void send(tickets::request request, on_reply done) override;
  void on_notifications(on_notification handler) override;
  std::shared_ptr<void> watch(store::watched target, std::function<void()> changed) override;
  [[nodiscard]] std::optional<store::time_point> session_until() const override;
  void on_session(const std::function<void()>& extended) override {
    extended_ = extended;
    session_.on_session(extended);
  }
  void help(store::caller& /*who*/) override {}
  bool drive() override { return false; }
  void kick() override {}

  /// From a server.
  void hear(server_packet p);
  /// Of the session that it has; zero: none.
  [[nodiscard]] std::int64_t session_id() const { return id_; }
  [[nodiscard]] std::size_t watches() const { return watched_nodes_.size() + watched_lists_.size(); }

  /// Who hears that an owner was told of the end of its claim.
  std::function<void(const store::notification&)> observe_notification;
  /// Likewise, that it may remove others' nodes until then.
  std::function<void(std::size_t name, instant until)> on_force_release;

 private:
  template <class Request>
  void give_alias(Request& r);
  struct job {
    zookeeper::operation step;
    on_result done;
    store::time_point sent{};
  };
  void submit(zookeeper::operation step, on_result done) override;
  void start(job j);
  void flush();
  void say(client_packet packet);
  void fail_queue();
  void say_hello();
  void on_cut();
  void listen();
  void ping_when_idle();
  void notify(store::notification n);
  void let_in(const welcome& w);
  void ended();
  void answered(zookeeper::result r);
  void happened(const happening& h);

  ensemble& to_;
  scene& in_;
  host& from_;
  line& over_;
  const options options_;
  faulty_wire bent_;
  zookeeper::session session_;

  std::size_t server_;  // that it tries, or is connected to
  std::int64_t id_ = 0;
  duration timeout_{};
  bool connected_ = false;
  bool down_ = false;
  std::size_t failures_ = 0;
  store::time_point began_;
  instant last_heard_{};
  instant last_said_{};
  std::uint32_t said_ = 0;  // packets, over this connection
  bool listening_ = false;
  bool in_use_ = false;       // a connection
  bool begins_anew_ = false;  // its session has ended, and it has hung up by itself
  std::int64_t last_seen_ = 0;
  std::deque<job> queue_;
  std::deque<job> unanswered_;
  std::set<std::string> watched_nodes_;
  std::set<std::string> watched_lists_;
  on_notification on_notification_;
  std::unordered_map<owner_id, owner_id> owners_;  // by alias
  std::set<owner_id> to_be_lost_;                  // a mutant's
  std::function<void()> extended_;                 // likewise
  store::time_point taken_for_proof_;              // likewise
};

}  // namespace holdfast::sim
