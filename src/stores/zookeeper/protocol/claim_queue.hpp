// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/link.hpp"
#include "core/request.hpp"
#include "core/scheduler.hpp"
#include "stores/zookeeper/protocol/arrivals.hpp"
#include "stores/zookeeper/protocol/claim_table.hpp"
#include "stores/zookeeper/protocol/polling.hpp"
#include "stores/zookeeper/protocol/reaper.hpp"

namespace holdfast::zookeeper {

/// The claims of a client in their queues at the store: they arrive, wait, hold and leave. It decides grants
/// from the nodes of a queue, because no server does. It routes answers and events to the machine of each
/// `claim`, and carries out the action that this returns.
///
/// These are the recipes of Apache Curator (InterProcessMutex, InterProcessReadWriteLock,
/// InterProcessSemaphoreV2) over ordered nodes, with two differences that other clients do not notice: the
/// contenders ahead are read once and remembered (see `contender_queue`), and a wait for permits takes all of
/// them at once.
///
/// - A claim creates a node in its queue (see `arrivals`). It holds when no conflicting contender is ahead.
/// Until then it watches the nearest one ahead (see `claim_table`), and moves up when that node is
/// removed.
/// - The first claim for permits creates one lease for each permit, and waits until all leases together fit
/// into the capacity. Only then the next claim of the queue comes.
/// - If a watch cannot be set, waiters poll in turn (see `polling`), and holders look with each renewal.
/// - The guid in the nodes' names shows the outcome of a request whose answer was lost. Nodes that have to go
/// are removed, with retries (see `reaper`).
/// - The end of the session ends all its nodes and claims.
class claim_queue {
 public:
  using on_reply = tickets::link::on_reply;
  using on_notification = tickets::link::on_notification;

  /// \param time must outlive it, and so must `nodes`.
  /// \param root empty, or the path below which the names are.
  /// \param others_watch whether another part of the session needs the watch of a node's children.
  claim_queue(store::scheduler& time, wire_nodes& nodes, std::string root, layout style,
              std::function<bool(const std::string&)> others_watch);

  /// \param handler hears what becomes of claims unasked.
  void on_notifications(on_notification handler) { on_notification_ = std::move(handler); }

  // Requests. They always answer, after the call.
  void acquire(const store::claim& wish, const on_reply& handler);
  void find(const store::hold& hold, const on_reply& handler);
  void look(const store::hold& hold, const on_reply& handler);
  void renew(const tickets::renew& request, const on_reply& handler);
  /// tickets::release and tickets::withdraw
  void leave(const store::hold& hold, const on_reply& handler);
  void downgrade(const store::hold& hold, const on_reply& handler);
  void annotate(const tickets::annotate& request, const on_reply& handler);

  // Of the session:
  void connected();
  void expired();
  void happened(const std::string& path, change event);

  /// Whether a claim waits for what happens to a node or its children.
  [[nodiscard]] bool awaits(const std::string& path) const { return claims_.awaits(path); }

 private:
  void reply_later(const on_reply& handler, tickets::link::outcome reply);
  void notify(const owner_id& owner, store::notification_kind kind, fencing_token token) const;

  void entered(const std::vector<arrivals::arrival_ptr>& all, std::vector<result> lists, bool is_current);
  void send(const claim& c, const claim::batch& b, const on_reply& handler);
  void carry_out(claim& c, const claim::next& n, const on_reply& handler);

  void wait_behind(claim& c, claim::extent reads);
  void ahead_read(const claim_ref& ref, bool watches, const std::vector<result>& results);
  void count_leases(claim& c);
  void read_own(claim& c, const std::string& path);
  void own_read(claim* c, const result& r);
  void watch_answered(const result& r);
  void unsettle(claim& c);
  void unsettle_behind(const std::string& path);
  void poll(const claim_ref& ref);

  void hold(claim& c, const std::vector<operation>& writes, const on_reply& handler);
  void end(claim& c, const claim::next& n, const on_reply& handler);
  void revoke(claim& c);
  void remove(claim& c, on_reply handler);
  void abandon(claim& c, on_reply handler);
  void forget(const claim& c);
  void leave_line(const std::string& queue);

  [[nodiscard]] std::vector<std::string> nodes_of(const claim& c) const;
  void node_gone(const std::string& path);
  void went(const std::string& path);
  void removed(const std::string& path);

  store::scheduler& time_;
  wire_nodes& nodes_;
  const std::string root_;
  const layout style_;
  on_notification on_notification_;
  reaper reaper_;
  claim_table claims_;
  arrivals arrivals_;
  polling polling_;
  /// The replies to claims that were refused while they were queued, until they look.
  std::map<owner_id, tickets::reply> verdicts_;
  std::map<std::string, std::weak_ptr<contender_queue>> lines_;  // by queue; their claims own them
};

}  // namespace holdfast::zookeeper
