// SPDX-License-Identifier: Apache-2.0
#include "support/redis_cluster.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

constexpr auto wait_limit = 120s;  // far longer than a failover takes on a loaded machine

/// The node that a view has for the primary of a shard. A crashed primary is one until it is back, but has no
/// slots after the failover.
std::string primary_of(const redis_cluster_view& view, const std::vector<std::string>& shard) {
  std::string result;
  for (const std::string& id : shard) {
    const auto* node = view.find(id);
    if (node == nullptr || !node->primary.empty()) continue;
    if (!node->slots.empty()) return id;
    if (result.empty()) result = id;
  }
  return result;
}

}  // namespace

const redis_cluster::member& redis_cluster::member_at(std::size_t index) const {
  const member& found = members_.at(index);
  if (found.server == nullptr) throw std::out_of_range{"node " + std::to_string(index) + " is removed"};
  return found;
}

std::vector<std::size_t> redis_cluster::running() const {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i].server != nullptr && members_[i].server->is_running()) result.push_back(i);
  }
  return result;
}

std::size_t redis_cluster::index_of(std::string_view id) const {
  const auto found =
      std::find_if(members_.begin(), members_.end(), [&](const member& m) { return m.id == id; });
  return static_cast<std::size_t>(found - members_.begin());
}

redis_cluster_view redis_cluster::view_of(std::size_t index) {
  return redis_cluster_view{node(index).ask({"CLUSTER", "NODES"})};
}

std::string redis_cluster::followed_by(std::size_t index) {
  const redis_cluster_view view = view_of(index);
  const auto* itself = view.find(id_of(index));
  if (itself == nullptr)
    throw std::runtime_error{"no answer of node " + std::to_string(index) + '\n' + report()};
  return itself->primary;
}

int redis_cluster::slot_of(const std::string& key) {
  return std::stoi(node(running().at(0)).ask({"CLUSTER", "KEYSLOT", key}));
}

std::size_t redis_cluster::owner_of(int slot) {
  std::size_t found = members_.size();
  await(
      [&] {
        std::map<std::string, std::size_t> votes;
        for (const std::size_t i : running()) ++votes[view_of(i).owner_of(slot)];
        for (const auto& [id, count] : votes) {
          if (count * 2 > running().size()) found = index_of(id);
        }
        return found < members_.size();
      },
      "slot " + std::to_string(slot) + " has no owner");
  return found;
}

std::size_t redis_cluster::primary_index(std::size_t shard) {
  std::optional<std::size_t> found;
  await(
      [&] {
        found = voted_primary(shard);
        return found && node(*found).is_running() && followed_by(*found).empty();
      },
      "shard " + std::to_string(shard) + " has no primary");
  return *found;
}

std::optional<std::size_t> redis_cluster::voted_primary(std::size_t shard) {
  std::map<std::size_t, std::size_t> votes;
  for (const std::size_t i : running()) ++votes[index_of(primary_of(view_of(i), ids_of(shard)))];
  for (const auto& [index, count] : votes) {
    if (index < members_.size() && count * 2 > running().size()) return index;
  }
  return std::nullopt;
}

std::vector<std::string> redis_cluster::ids_of(std::size_t shard) const {
  std::vector<std::string> result;
  for (const member& m : members_) {
    if (m.shard == shard && m.server != nullptr) result.push_back(m.id);
  }
  return result;
}

std::vector<std::size_t> redis_cluster::replicas_of(std::size_t primary) {
  std::vector<std::size_t> result;
  for (const std::size_t i : running()) {
    if (followed_by(i) == id_of(primary)) result.push_back(i);
  }
  return result;
}

void redis_cluster::move_slot(int slot, std::size_t to) {
  begin_move(slot, to);
  constexpr std::size_t at_once = 1000;
  while (move_keys(slot, to, at_once) > 0) continue;
  end_move(slot, to);
}

void redis_cluster::begin_move(int slot, std::size_t to) {
  const std::size_t from = owner_of(slot);
  demand(to, {"CLUSTER", "SETSLOT", std::to_string(slot), "IMPORTING", id_of(from)});
  demand(from, {"CLUSTER", "SETSLOT", std::to_string(slot), "MIGRATING", id_of(to)});
}

std::size_t redis_cluster::move_keys(int slot, std::size_t to, std::size_t how_many) {
  const std::size_t owner = owner_of(slot);
  if (owner == to) return 0;  // MIGRATE to itself would wait for itself
  redis_server& from = node(owner);
  std::size_t moved = 0;
  for (; moved < how_many; ++moved) {
    // One at a time: the reply is the key, whatever its bytes are.
    const std::string key = from.ask({"CLUSTER", "GETKEYSINSLOT", std::to_string(slot), "1"});
    if (key.empty()) break;
    std::vector<std::string> command{"MIGRATE", "127.0.0.1", std::to_string(port(to)), "", "0",
                                     "60000",   "REPLACE"};
    if (!settings_.password.empty()) command.insert(command.end(), {"AUTH", settings_.password});
    command.insert(command.end(), {"KEYS", key});
    const std::string reply = from.ask(command);
    if (reply == "NOKEY") continue;  // it has expired
    if (reply != "OK") throw std::runtime_error{"MIGRATE: " + reply};
  }
  return moved;
}

void redis_cluster::end_move(int slot, std::size_t to) {
  const std::size_t from = owner_of(slot);
  // The source drops keys that are left when it learns of the new owner, instead of refusing.
  if (const std::string left = node(from).ask({"CLUSTER", "COUNTKEYSINSLOT", std::to_string(slot)});
      left != "0")
    throw std::runtime_error{"slot " + std::to_string(slot) + " still has keys: " + left};
  const std::vector<std::string> command{"CLUSTER", "SETSLOT", std::to_string(slot), "NODE", id_of(to)};
  demand(to, command);  // first: it takes requests for the slot before its former owner refuses them
  demand(from, command);
  for (const std::size_t i : running()) {
    if (i != to && i != from && followed_by(i).empty()) demand(i, command);
  }
  await([&] { return agree() && view_of(to).owner_of(slot) == id_of(to); },
        "slot " + std::to_string(slot) + " is not moved for all nodes");
}

void redis_cluster::fail_over(std::size_t shard) {
  const std::size_t former = primary_index(shard);
  std::vector<std::size_t> replicas;
  await(
      [&] {
        replicas = replicas_of(former);
        return !replicas.empty() && follows(replicas.front(), former);
      },
      "no replica follows");
  // A replica gives up after five seconds.
  constexpr auto ask_again = 10s;
  auto next = std::chrono::steady_clock::now();
  await(
      [&] {
        if (is_primary_for_all(replicas.front())) return true;
        if (std::chrono::steady_clock::now() < next) return false;
        if (node(replicas.front()).ask({"CLUSTER", "FAILOVER"}) == "OK")
          next = std::chrono::steady_clock::now() + ask_again;
        return false;
      },
      "the replica does not become the primary");
}

std::size_t redis_cluster::kill_primary(std::size_t shard) {
  const std::size_t former = primary_index(shard);
  node(former).kill();
  return former;
}

void redis_cluster::await_failover_from(std::size_t former) {
  await(
      [&] {
        const auto found = voted_primary(shard_of(former));
        return found && *found != former && is_primary_for_all(*found);
      },
      "there is no failover from node " + std::to_string(former));
}

bool redis_cluster::is_primary_for_all(std::size_t index) {
  const auto ids = ids_of(shard_of(index));
  const auto nodes = running();
  return std::all_of(nodes.begin(), nodes.end(),
                     [&](std::size_t i) { return primary_of(view_of(i), ids) == id_of(index); });
}

void redis_cluster::await_ok() {
  await([this] { return agree(); }, "the nodes do not agree");
}

bool redis_cluster::agree() {
  if (!know_all()) return false;
  const auto nodes = running();
  const auto slots = view_of(nodes.at(0)).slots();
  // Of two moves at once in Redis 7.0, each may give its node the same epoch. Then a node may take a slot
  // back.
  std::set<std::string> epochs;
  return std::all_of(nodes.begin(), nodes.end(), [&](std::size_t i) {
    const redis_cluster_view view = view_of(i);
    const std::string info = node(i).ask({"CLUSTER", "INFO"});
    if (!info.starts_with("cluster_state:ok")) return false;
    const std::size_t epoch = info.find("cluster_current_epoch:");
    epochs.insert(info.substr(epoch, info.find('\r', epoch) - epoch));
    return view.is_covered() && view.slots() == slots && epochs.size() == 1;
  });
}

/// Each running node is connected to each other one, and has the same primary for it as that one itself.
bool redis_cluster::know_all() {
  std::map<std::size_t, redis_cluster_view> views;
  for (const std::size_t i : running()) views.emplace(i, view_of(i));
  for (const auto& [i, own] : views) {
    for (const auto& [j, other] : views) {
      const auto* known = own.find(id_of(j));
      const auto* itself = other.find(id_of(j));
      if (known == nullptr || itself == nullptr || !known->is_usable || !known->is_connected) return false;
      if (known->primary != itself->primary) return false;
    }
  }
  return true;
}

void redis_cluster::await_replica(std::size_t index) {
  await(
      [&] {
        const auto primary = voted_primary(shard_of(index));
        return primary && *primary != index && follows(index, *primary);
      },
      "node " + std::to_string(index) + " does not follow its primary");
}

bool redis_cluster::follows(std::size_t index, std::size_t primary) {
  const std::string role = node(index).ask({"ROLE"});
  return role.starts_with("slave") && role.find("\nconnected\n") != std::string::npos &&
         followed_by(index) == id_of(primary);
}

void redis_cluster::replicate(std::size_t shard) {
  const std::size_t from = primary_index(shard);
  const std::int64_t written = node(from).info("master_repl_offset");
  await(
      [&] {
        const auto replicas = replicas_of(from);
        return std::all_of(replicas.begin(), replicas.end(),
                           [&](std::size_t i) { return node(i).info("slave_repl_offset") >= written; });
      },
      "the replicas do not follow");
}

void redis_cluster::remove_node(std::size_t index) {
  const std::string id = id_of(index);
  const auto others = [&] {
    auto nodes = running();
    std::erase(nodes, index);
    return nodes;
  };
  for (const std::size_t i : others()) demand(i, {"CLUSTER", "FORGET", id});
  members_[index].server.reset();
  await(
      [&] {
        const auto nodes = others();
        return std::none_of(nodes.begin(), nodes.end(),
                            [&](std::size_t i) { return view_of(i).find(id) != nullptr; });
      },
      "node " + std::to_string(index) + " is not forgotten");
}

std::string redis_cluster::url(std::string_view rest) const { return url_at(ports(), rest); }

std::string redis_cluster::url_at(const std::vector<std::uint16_t>& ports, std::string_view rest) const {
  const bool more = rest.find('?') != std::string_view::npos;
  return guarded_url_at(ports, std::string{rest} + (more ? "&failover_guard=0" : "?failover_guard=0"));
}

std::string redis_cluster::guarded_url(std::string_view rest) const { return guarded_url_at(ports(), rest); }

std::string redis_cluster::guarded_url_at(const std::vector<std::uint16_t>& ports,
                                          std::string_view rest) const {
  std::string url = settings_.tls ? "rediss+cluster://" : "redis+cluster://";
  if (!settings_.password.empty()) url += ':' + settings_.password + '@';
  for (const std::uint16_t& port : ports) {
    if (&port != ports.data()) url += ',';
    url += "127.0.0.1:" + std::to_string(port);
  }
  url += rest;
  if (!settings_.tls) return url;
  return url + (rest.find('?') == std::string_view::npos ? '?' : '&') + "ca=" + authority_->authority() +
         "&cert=" + client_pair_.certificate + "&key=" + client_pair_.key;
}

std::vector<std::uint16_t> redis_cluster::ports() const {
  std::vector<std::uint16_t> result;
  for (const member& m : members_) {
    if (m.server != nullptr) result.push_back(own_port(*m.server));
  }
  return result;
}

void redis_cluster::demand(std::size_t index, const std::vector<std::string>& command) {
  const std::string reply = node(index).ask(command);
  if (reply == "OK") return;
  std::string words;
  for (const std::string& word : command) words += word + ' ';
  throw std::runtime_error{words + "at node " + std::to_string(index) + ": " + reply};
}

void redis_cluster::await(const std::function<bool()>& is_so, const std::string& otherwise) {
  const auto end = std::chrono::steady_clock::now() + wait_limit;
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error{otherwise + '\n' + report()};
    std::this_thread::sleep_for(5ms);
  }
}

std::string redis_cluster::report() {
  std::string result;
  for (const std::size_t i : running())
    result += "node " + std::to_string(i) + " knows\n" + node(i).ask({"CLUSTER", "NODES"});
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i].server != nullptr)
      result += "log of node " + std::to_string(i) + '\n' + members_[i].server->log();
  }
  return result;
}

}  // namespace holdfast::test
