// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulation/mutant.hpp"
#include "simulation/quorum/quorum_ledger.hpp"
#include "simulation/redis_store.hpp"
#include "simulation/simulated_store.hpp"
#include "stores/quorum/protocol/coordinator.hpp"

namespace holdfast::sim {

/// Several servers of Redis that know nothing of each other, and the links of the clients to all of them: the
/// real coordinator over the links of `redis_store`.
class quorum_store final : public simulated_store {
 public:
  /// One of the servers, and its computer.
  struct node {
    node(scene& in, const clock& wall, quorum_ledger& all, std::size_t number, mutant with, bool has_guard);
    site at;
    node_ledger account;
    redis_store server;
    std::optional<std::string> set;  // of its clients' servers; a restart does not concern it
  };

  /// \param silence after so long without an answer a server counts as silent.
  quorum_store(scene& in, quorum_ledger& all, duration silence, mutant with);
  /// \param wall its clock.
  void add_node(const clock& wall);
  /// All clocks, of servers and of clients' coordinators, show multiples of that.
  void coarsen_clocks(duration grain) { grain_ = grain; }
  /// The servers grant at once after a start, whatever they may have forgotten.
  void switch_guard_off() { has_guard_ = false; }
  /// A client names only these servers, which keep that set: see stores/quorum/protocol/server_set. Before it
  /// connects.
  void name_servers(std::uint8_t client, std::vector<std::size_t> servers) {
    named_[client] = std::move(servers);
  }
  /// Ends a server's process, and its connections.
  void crash(std::size_t server);

  /// Hears of each notification that has come to its client.
  std::function<void(const store::notification&)> on_delivery;

  [[nodiscard]] std::deque<node>& nodes() { return nodes_; }
  /// From a client to a server.
  [[nodiscard]] line& way(const host& from, std::size_t server) { return ways_.at(from.number()).at(server); }
  [[nodiscard]] std::map<std::uint8_t, std::deque<line>>& ways() { return ways_; }
  [[nodiscard]] std::size_t count_of_grants(std::size_t name, const owner_id& owner);

  std::unique_ptr<tickets::link> connect(host& from, line& over, duration reply_limit) override;
  void notify_all(const store::notification& n) override;
  void heal() override;
  [[nodiscard]] bool is_a_server() const override { return true; }
  /// Of all servers.
  [[nodiscard]] std::vector<standing> claims() override;
  [[nodiscard]] duration guard() const override { return nodes_.front().server.guard(); }
  std::string damage() override;

 private:
  scene& in_;
  quorum_ledger& all_;
  duration silence_;
  mutant with_;
  duration grain_{1};
  bool has_guard_ = true;
  std::deque<node> nodes_;
  std::map<std::uint8_t, std::deque<line>> ways_;           // by the number of the client
  std::map<std::uint8_t, std::vector<std::size_t>> named_;  // likewise; none: all, and nobody keeps sets
};

}  // namespace holdfast::sim
