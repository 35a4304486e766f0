// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/certificates.hpp"
#include "support/redis_cluster_view.hpp"
#include "support/redis_server.hpp"
#include "support/reserved_port.hpp"
#include "support/scratch_folder.hpp"

namespace holdfast::test {

/// A Redis Cluster of real servers on the loopback. The servers end with this object.
///
/// A shard is a primary and its replicas. Shards are counted from 0, and their nodes too: at the start node i
/// is the primary of shard i, and the other nodes are replicas. A number never changes its node or shard;
/// the primary of a shard changes. A replica stays in its shard, unless `lines` allow a replica migration.
///
/// Each function that waits has a limit of two minutes. Then it throws std::runtime_error, with the log.
class redis_cluster {
 public:
  struct settings {
    std::size_t shards = 3;    ///< an automatic failover needs the votes of two other primaries
    std::size_t replicas = 1;  ///< of each shard
    /// After so long a node is down for another one. The default is short, for failovers; a loaded machine
    /// may cause one.
    std::chrono::milliseconds node_timeout{1500};
    std::vector<std::string> lines{};  ///< of the configuration of each node
    std::string password{};            ///< of all nodes
    bool tls = false;                  ///< between the nodes, and for clients
    bool append_only = false;          ///< every write is on the disk before its reply
  };

  /// Returns when each node takes requests and each replica follows its primary. \throws std::runtime_error.
  redis_cluster() : redis_cluster(settings{}) {}
  explicit redis_cluster(settings options);

  /// \throws std::out_of_range for a removed node.
  [[nodiscard]] redis_server& node(std::size_t index) { return *member_at(index).server; }
  /// The port for clients: with TLS, the one that asks for a certificate.
  [[nodiscard]] std::uint16_t port(std::size_t index) const { return own_port(*member_at(index).server); }
  /// All nodes that were ever started. A removed node keeps its number.
  [[nodiscard]] std::size_t node_count() const noexcept { return members_.size(); }
  [[nodiscard]] const std::string& id_of(std::size_t index) const { return member_at(index).id; }
  [[nodiscard]] std::size_t shard_of(std::size_t index) const { return member_at(index).shard; }

  /// The number that a node gives to the slot of a key.
  [[nodiscard]] int slot_of(const std::string& key);
  /// The node that owns the slot for the majority of the running nodes. It may be killed or stopped itself.
  [[nodiscard]] std::size_t owner_of(int slot);
  /// The node of the shard that is the primary for the majority of the running nodes, and for itself. Waits
  /// for a failover.
  [[nodiscard]] std::size_t primary_index(std::size_t shard);
  /// The running nodes that follow this one, each in its own view.
  [[nodiscard]] std::vector<std::size_t> replicas_of(std::size_t primary);

  /// Moves a slot with its keys. Returns when all running nodes know the new owner.
  void move_slot(int slot, std::size_t to);
  /// The first step of a move: its owner migrates the slot, the other node imports it.
  void begin_move(int slot, std::size_t to);
  /// The second step, which may be repeated. Each key moves by a request of its own. \return so many moved.
  std::size_t move_keys(int slot, std::size_t to, std::size_t how_many);
  /// The last step. Returns when all running nodes know the new owner. \throws std::runtime_error when keys
  /// are left.
  void end_move(int slot, std::size_t to);

  /// A planned failover. Returns when a replica is the primary for all running nodes.
  void fail_over(std::size_t shard);
  /// A crash. \return the node that was the primary.
  std::size_t kill_primary(std::size_t shard);
  /// Returns when another node than this is the primary of its shard for all running nodes.
  void await_failover_from(std::size_t former);
  /// Returns when all running nodes take requests, and have the same owner for each of the 16384 slots.
  void await_ok();
  /// Returns when the node follows the primary of its shard, and has its data.
  void await_replica(std::size_t index);
  /// Returns when the running replicas of the shard have all that the primary has written.
  void replicate(std::size_t shard);

  /// A new shard: a primary without slots and replicas. Returns when all running nodes know it. \return the
  /// node's number; `shard_of` tells the shard's.
  std::size_t add_node();
  /// Makes all others forget the node, and ends it. The node has no slots and no replicas.
  void remove_node(std::size_t index);

  /// A store URL of all nodes; `rest` follows the ports: "?prefix=a:". The failover guard is off: the servers
  /// have just started, and would grant nothing for a while.
  [[nodiscard]] std::string url(std::string_view rest = {}) const;
  /// The same with the guard that `rest` names, or the default one.
  [[nodiscard]] std::string guarded_url(std::string_view rest = {}) const;
  /// Of those nodes, or whatever listens there.
  [[nodiscard]] std::string url_at(const std::vector<std::uint16_t>& ports, std::string_view rest = {}) const;
  /// Of all nodes that are not removed, in their order.
  [[nodiscard]] std::vector<std::uint16_t> ports() const;

  /// What the node knows of all nodes.
  [[nodiscard]] redis_cluster_view view_of(std::size_t index);

 private:
  struct member {
    reserved_port bus;  ///< where the other nodes talk to it
    std::size_t shard;
    std::unique_ptr<redis_server> server{};  ///< null when removed
    std::string id{};
  };

  [[nodiscard]] const member& member_at(std::size_t index) const;
  [[nodiscard]] std::uint16_t own_port(const redis_server& server) const {
    return settings_.tls ? server.tls_port() : server.port();
  }
  [[nodiscard]] std::string guarded_url_at(const std::vector<std::uint16_t>& ports,
                                           std::string_view rest) const;
  [[nodiscard]] std::vector<std::size_t> running() const;
  [[nodiscard]] std::size_t index_of(std::string_view id) const;
  [[nodiscard]] std::vector<std::string> ids_of(std::size_t shard) const;

  /// The node id that a node follows in its own view; empty for a primary.
  [[nodiscard]] std::string followed_by(std::size_t index);

  void start_node(std::size_t shard);
  void give_slots();
  void meet_all();
  void meet(std::size_t one, std::size_t other);
  [[nodiscard]] bool know_all();
  void follow_primaries();
  void hurry();
  [[nodiscard]] bool agree();
  [[nodiscard]] bool is_primary_for_all(std::size_t index);
  [[nodiscard]] bool follows(std::size_t index, std::size_t primary);
  [[nodiscard]] std::optional<std::size_t> voted_primary(std::size_t shard);

  void demand(std::size_t index, const std::vector<std::string>& command);
  void await(const std::function<bool()>& is_so, const std::string& otherwise);
  [[nodiscard]] std::string report();

  settings settings_;
  scratch_folder folder_;
  std::optional<certificates> authority_;
  certificates::pair client_pair_;
  std::vector<member> members_;
};

}  // namespace holdfast::test
