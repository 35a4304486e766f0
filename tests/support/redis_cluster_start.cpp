// SPDX-License-Identifier: Apache-2.0
// How the nodes become one cluster.

#include <algorithm>
#include <utility>

#include "support/redis_cluster.hpp"

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

constexpr auto meet_again = 2s;  // longer than a node waits for the other one's answer

}  // namespace

redis_cluster::redis_cluster(settings options) : settings_{std::move(options)} {
  if (settings_.tls) {
    authority_.emplace(folder_);
    client_pair_ = authority_->issue("client", "DNS:client");
  }
  for (std::size_t i = 0; i < settings_.shards * (settings_.replicas + 1); ++i)
    start_node(i % settings_.shards);
  give_slots();
  meet_all();
  follow_primaries();
  hurry();
}

void redis_cluster::start_node(std::size_t shard) {
  member& added = members_.emplace_back(member{.bus = {}, .shard = shard});
  redis_server::settings one{.password = settings_.password,
                             .tls = settings_.tls,
                             .authority = settings_.tls ? &*authority_ : nullptr,
                             .append_only = settings_.append_only};
  one.lines = {"cluster-enabled yes",
               "cluster-config-file nodes.conf",
               "cluster-announce-ip 127.0.0.1",
               "cluster-port " + std::to_string(added.bus.number()),
               "cluster-node-timeout " + std::to_string(settings_.node_timeout.count()),
               "cluster-allow-replica-migration no",
               "repl-diskless-sync-delay 0"};
  if (settings_.tls) {
    one.lines.emplace_back("tls-cluster yes");
    one.lines.emplace_back("tls-replication yes");
  }
  if (!settings_.password.empty()) one.lines.push_back("masterauth \"" + settings_.password + '"');
  one.lines.insert(one.lines.end(), settings_.lines.begin(), settings_.lines.end());
  added.server = std::make_unique<redis_server>(one);
  added.id = added.server->ask({"CLUSTER", "MYID"});
}

/// Before the nodes meet: a node with slots and an epoch of its own starts no negotiation about either.
void redis_cluster::give_slots() {
  const auto begin_of = [&](std::size_t shard) {
    return shard * redis_cluster_view::slot_count / settings_.shards;
  };
  for (std::size_t i = 0; i < members_.size(); ++i) {
    demand(i, {"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
    if (i >= settings_.shards) continue;
    demand(i, {"CLUSTER", "ADDSLOTSRANGE", std::to_string(begin_of(i)), std::to_string(begin_of(i + 1) - 1)});
  }
}

/// Each node meets each other one, which is sooner than gossip.
void redis_cluster::meet_all() {
  auto next = std::chrono::steady_clock::now();
  bool is_again = false;
  const auto meet_unknown = [&] {
    if (std::chrono::steady_clock::now() < next) return;
    for (const std::size_t i : running()) {
      const redis_cluster_view view = view_of(i);
      for (const std::size_t j : running()) {
        // On a machine that stalls, one of the two may have given up.
        if ((i < j || is_again) && i != j && view.find(id_of(j)) == nullptr) meet(i, j);
      }
    }
    is_again = true;
    next = std::chrono::steady_clock::now() + meet_again;
  };
  await(
      [&] {
        meet_unknown();
        return know_all();
      },
      "the nodes do not know each other");
}

void redis_cluster::meet(std::size_t one, std::size_t other) {
  demand(one, {"CLUSTER", "MEET", "127.0.0.1", std::to_string(port(other)),
               std::to_string(member_at(other).bus.number())});
}

void redis_cluster::follow_primaries() {
  for (std::size_t i = settings_.shards; i < members_.size(); ++i)
    demand(i, {"CLUSTER", "REPLICATE", id_of(shard_of(i))});
  await(
      [&] {
        for (std::size_t i = settings_.shards; i < members_.size(); ++i) {
          if (!follows(i, shard_of(i))) return false;
        }
        return true;
      },
      "the replicas do not follow");
}

/// A primary that joins takes no requests for as long as the node timeout, up to five seconds. Shortens that.
void redis_cluster::hurry() {
  constexpr std::chrono::milliseconds meanwhile{1500};
  const bool needed = settings_.node_timeout > meanwhile;
  const auto set_timeout = [&](std::chrono::milliseconds timeout) {
    for (const std::size_t i : running())
      demand(i, {"CONFIG", "SET", "cluster-node-timeout", std::to_string(timeout.count())});
  };
  if (needed) set_timeout(meanwhile);
  await_ok();
  if (needed) set_timeout(settings_.node_timeout);
}

std::size_t redis_cluster::add_node() {
  std::size_t shard = 0;
  for (const member& m : members_) shard = std::max(shard, m.shard + 1);
  start_node(shard);
  meet_all();
  hurry();
  return members_.size() - 1;
}

}  // namespace holdfast::test
