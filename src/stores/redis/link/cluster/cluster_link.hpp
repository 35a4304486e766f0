// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/link.hpp"
#include "core/request.hpp"
#include "holdfast/state.hpp"
#include "stores/redis/link/cluster/topology.hpp"
#include "stores/redis/link/node.hpp"
#include "stores/redis/link/node_link.hpp"
#include "stores/redis/link/settings.hpp"
#include "stores/redis/link/wire.hpp"
#include "stores/redis/protocol/cluster.hpp"
#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/listing.hpp"
#include "stores/redis/protocol/renewals.hpp"
#include "stores/redis/protocol/server_address.hpp"

namespace holdfast::redis {

/// The state of the listing of a cluster: one server after another, then the names that moved meanwhile. A
/// slot that moved from a server that was still to be asked to one that had been asked was seen on neither.
/// So the servers that got slots meanwhile are asked once more.
struct cluster_listing final : tickets::listing_state {
  slot_map map;                               // when the servers that are left were chosen
  std::vector<server_address> left;           // to ask
  unsigned passes = 0;                        // so far
  std::shared_ptr<listing> current;           // of the last of `left`
  std::map<std::string, lock_summary> found;  // by name: one that moves may be found twice
  std::set<std::string> moved;                // names

  [[nodiscard]] std::vector<lock_summary> summaries() const;
  /// Takes the outcome of a listing of the first of `moved` alone.
  /// \return false for an error of a server: the name has to be asked for again.
  [[nodiscard]] bool take_moved(const tickets::link::outcome& of);
};

/// Carries requests to the servers of a Redis Cluster: each to the one that has the slot of its name.
///
/// Its slot_map says which server that is. A server that has a slot no more says so (MOVED, ASK) and has not
/// carried the request out: it is sent on, and the map is asked for again. The same happens when a server
/// cannot be reached. Until the cluster has put another in its place, requests for its slots fail, and the
/// machines try again.
///
/// A server that stands still says nothing. When it has owed a reply for a while, others are asked for the
/// map, and a server that has no slot any more is left at once: its requests fail, and are sent again.
///
/// A node is connected to when it is needed, and left when nothing was sent to it for so long that no claim
/// of this client can be alive there. All nodes share one connection_reader.
///
/// What the nodes share is used under the core lock.
class cluster_link final : public node_link, private node::parent {
 public:
  /// Connects when it is needed. \throws holdfast::error for certificates that cannot be read.
  cluster_link(runtime::event_loop& loop, settings s);
  ~cluster_link() override { shut(); }
  cluster_link(const cluster_link&) = delete;
  cluster_link& operator=(const cluster_link&) = delete;

  void send(tickets::request request, on_reply handler) override;
  void take_back(std::uint64_t request) override;
  [[nodiscard]] bool joins(const std::vector<std::string_view>& names) const override;
  /// Ends the link's threads. Nothing is delivered afterwards. Idempotent.
  void shut() override;

 private:
  struct member {
    node_ptr server;
    store::time_point needed_until{};
  };
  using members = std::map<std::string, member>;  // by their addresses
  struct moving_holds {
    moving_renewal renewal;
    on_reply handler;
    store::time_point send_by;  // see tickets::request
  };

  // See node::parent.
  [[nodiscard]] connection connect(node& to, int stop) override;
  void on_connected(node& to, bool again) override;
  void on_unreachable(node& server) override;
  void on_received(const notifications& received) override { pass_on(received); }
  void on_channel_end() override { report_gap(); }
  bool on_marker_moved(node& server, const redirection& to) override;
  void on_changes(const changes& of) override { ring_for(of, watchers()); }
  void on_queued(node& at) override;
  void on_misplaced() override { topology_.refresh(); }

  void track(const store::watched& target, bool on) override;

  // Requests:
  [[nodiscard]] command_ptr command_for(tickets::request request, on_reply handler);
  void on_redirection(pending_command& refused, const redirection& to);
  void on_slot_between_servers(pending_command& refused);
  void route(command_ptr c, std::uint16_t slot);
  /// A request that cannot be sent fails soon.
  void push(const server_address& to, command_ptr c);
  void fail_soon(command_ptr c, const store::request_error& reason);
  void send_split(const tickets::renew& whole, on_reply handler);
  void send_listing(tickets::list request, on_reply handler);
  void list_server(tickets::list request, const std::shared_ptr<cluster_listing>& all,
                   const on_reply& handler);
  void list_moved(const tickets::list& request, const std::shared_ptr<cluster_listing>& all,
                  const on_reply& handler);
  void renew_by_key(const std::shared_ptr<moving_holds>& all, const moving_renewal::step& next,
                    const server_address& at, bool is_asking, unsigned redirections);

  // The map:
  void ask(const server_address& which, topology::on_answer handler);
  [[nodiscard]] std::vector<server_address> candidates();
  void take_map(slot_map map);
  void resume(const store::request_error* problem);
  /// \return false where the map has no room for it.
  [[nodiscard]] bool move_slot(std::uint16_t slot, const server_address& to);
  void place_marker(const server_address& primary);

  // Nodes:
  /// \throws holdfast::error errc::exhausted: there are too many, or there is no room for its thread.
  [[nodiscard]] member& member_at(const server_address& address);
  /// Null: it was left, or is not known yet.
  [[nodiscard]] node_ptr find_node(const std::string& place) const;
  members::iterator remove(members::iterator each, std::vector<node_ptr>& removed);
  void follow_tracked();
  void leave_idle();
  void leave_later(const std::vector<node_ptr>& nodes);
  void look_for_stalled();

  slot_map map_;
  topology topology_;
  struct awaiting {
    std::uint64_t request;  // see on_reply
    std::function<void(const store::request_error* problem)> go_on;
  };
  std::vector<awaiting> awaiting_map_;
  members members_;
  std::vector<node_ptr> leaving_;  // not yet closed
  std::map<std::string, std::string>
      tracked_;  // names that are watched: the place that does; empty: none yet
  store::scheduler::timer sweep_ = 0;
  store::scheduler::timer stall_check_ = 0;  // while requests are under way
  bool is_shut_ = false;
};

}  // namespace holdfast::redis
