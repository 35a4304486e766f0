// SPDX-License-Identifier: Apache-2.0
#include "simulation/quorum/quorum_store.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "simulation/is_bent.hpp"
#include "simulation/quorum/quorum_link.hpp"

namespace holdfast::sim {

using namespace std::chrono_literals;

quorum_store::node::node(scene& in, const clock& wall, quorum_ledger& all, std::size_t number, mutant with,
                         bool has_guard)
    : at{in, clock{1h}, wall}, account{in, at, all, number}, server{with} {
  server.let_vote();
  server.demand_replicas(0);
  server.demand_guard(has_guard);
  server.demand_min_replicas(false);
  server.begin(in, at, account);
}

quorum_store::quorum_store(scene& in, quorum_ledger& all, duration silence, mutant with)
    : in_{in}, all_{all}, silence_{silence}, with_{with} {
  all.clock_of = [this](std::size_t server) { return nodes_.at(server).at.lease_now(); };
}

void quorum_store::add_node(const clock& wall) {
  nodes_.emplace_back(in_, wall, all_, nodes_.size(), with_, has_guard_);
  nodes_.back().server.coarsen_clock(std::max<std::int64_t>(grain_.count(), 1));
}

void quorum_store::crash(std::size_t server) {
  node& crashed = nodes_.at(server);
  crashed.at.go_down();
  crashed.server.restart();
  for (auto& [client, ways] : ways_) ways.at(server).cut();
}

std::unique_ptr<tickets::link> quorum_store::connect(host& from, line& /*over*/, duration reply_limit) {
  std::deque<line>& ways = ways_[from.number()];
  if (ways.empty()) {
    for (node& each : nodes_)
      ways.emplace_back(in_, from, each.at, in_.chance.between(100us, 2ms), ways.size() + 1);
  }
  const auto named = named_.find(from.number());
  std::vector<quorum_server> servers;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (named != named_.end() &&
        std::find(named->second.begin(), named->second.end(), i) == named->second.end())
      continue;
    servers.push_back({nodes_[i].server.connect_to_one(from, ways[i], reply_limit), ways[i],
                       "server" + std::to_string(i), nodes_[i].set});
  }
  bent_with() = with_;
  const duration oldest = nodes_.front().server.oldest_number();
  const duration furthest = redis::dialect::furthest_number;
  const bool keeps_sets = named != named_.end();
  return std::make_unique<quorum_link>(
      from, std::move(servers),
      quorum_link::terms{silence_, oldest, furthest, grain_, keeps_sets, on_delivery});
}

std::size_t quorum_store::count_of_grants(std::size_t name, const owner_id& owner) {
  return static_cast<std::size_t>(std::count_if(nodes_.begin(), nodes_.end(), [&](node& each) {
    const auto there = each.server.claims();
    return std::any_of(there.begin(), there.end(), [&](const standing& s) {
      return s.name == name && s.owner == owner && s.granted && s.expires > each.at.lease_now();
    });
  }));
}

void quorum_store::notify_all(const store::notification& n) {
  for (node& each : nodes_) each.server.notify_all(n);
}

void quorum_store::heal() {
  for (node& each : nodes_) each.server.heal();
  for (auto& [client, ways] : ways_)
    for (line& each : ways) each.heal();
}

std::vector<standing> quorum_store::claims() {
  std::vector<standing> all;
  for (node& each : nodes_) {
    const auto there = each.server.claims();
    all.insert(all.end(), there.begin(), there.end());
  }
  return all;
}

std::string quorum_store::damage() {
  for (node& each : nodes_)
    if (std::string found = each.server.damage(); !found.empty()) return found;
  return {};
}

}  // namespace holdfast::sim
