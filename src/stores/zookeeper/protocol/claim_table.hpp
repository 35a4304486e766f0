// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "stores/zookeeper/protocol/claim.hpp"
#include "stores/zookeeper/protocol/wire_nodes.hpp"

namespace holdfast::zookeeper {

/// All claims of a client: by owner, by their nodes, and by the nodes for which they wait. One watch of a
/// node serves all claims that wait for it, and the claim of the node itself.
class claim_table {
 public:
  using claims = std::unordered_map<owner_id, claim>;

  /// \param nodes must outlive it.
  /// \param others_watch whether another part of the session needs the watch of a node's children.
  claim_table(wire_nodes& nodes, layout style, std::function<bool(const std::string&)> others_watch)
      : nodes_{nodes}, style_{style}, others_watch_{std::move(others_watch)} {}
  claim_table(const claim_table&) = delete;
  claim_table& operator=(const claim_table&) = delete;

  /// The serial of the next claim.
  [[nodiscard]] std::uint64_t next_serial() { return ++last_serial_; }
  /// Each owner has one claim: a new one replaces the former.
  claim& add(claim c) {
    if (const claim* const former = find(c.wish.owner); former != nullptr) owners_.erase(former->guid);
    owners_[c.guid] = c.wish.owner;
    return claims_.insert_or_assign(owner_id{c.wish.owner}, std::move(c)).first->second;
  }
  /// Null if the claim has gone.
  [[nodiscard]] claim* find(const claim_ref& ref) {
    claim* const c = find(ref.owner);
    return c != nullptr && c->serial == ref.serial ? c : nullptr;
  }
  [[nodiscard]] claim* find(const owner_id& owner) {
    const auto found = claims_.find(owner);
    return found == claims_.end() ? nullptr : &found->second;
  }
  void erase(const claim& c) {
    owners_.erase(c.guid);
    claims_.erase(owner_id{c.wish.owner});
  }
  /// The claim of a node; null for nodes of others, and for one that its claim removes itself by a downgrade.
  [[nodiscard]] claim* owner_of(const std::string& path) {
    const auto node = parse(style_, path.substr(path.rfind('/') + 1));
    const auto owner = node && node->guid ? owners_.find(*node->guid) : owners_.end();
    claim* const c = owner == owners_.end() ? nullptr : find(owner->second);
    if (c == nullptr || c->replaces(path)) return nullptr;
    const std::vector<std::string> all = c->nodes();
    return std::find(all.begin(), all.end(), path) == all.end() ? nullptr : c;
  }

  [[nodiscard]] const claims& all() const { return claims_; }
  /// Forgets all.
  claims take() {
    owners_.clear();
    waiters_.clear();
    awaited_.clear();
    return std::exchange(claims_, {});
  }

  /// The claim waits for what happens to a node, or to its children, and for nothing else.
  void await(const claim& c, const std::string& path, watch_kind kind) {
    if (awaited_by(c) != path) stop_waiting(c);
    awaited_[c.wish.owner] = {path, kind};
    waiters_[path].insert(c.wish.owner);
  }
  void stop_waiting(const claim& c) {
    const auto former = awaited_.extract(c.wish.owner);
    if (!former) return;
    const auto& [path, kind] = former.mapped();
    const auto found = waiters_.find(path);
    found->second.erase(c.wish.owner);
    if (!found->second.empty()) return;
    waiters_.erase(found);
    end_unneeded(path, kind);
  }
  /// Nobody waits for the node any more: it has changed, or its watch cannot be relied on.
  /// \return the claims that waited.
  std::set<owner_id> take_waiters(const std::string& path) {
    auto all = waiters_.extract(path);
    if (!all) return {};
    for (const owner_id& each : all.mapped()) awaited_.erase(each);
    return std::move(all.mapped());
  }
  /// Whether a claim waits for it.
  [[nodiscard]] bool awaits(const std::string& path) const { return waiters_.contains(path); }
  /// The node that a claim waits for; empty: none.
  [[nodiscard]] std::string awaited_by(const claim& c) const {
    const auto found = awaited_.find(c.wish.owner);
    return found == awaited_.end() ? std::string{} : found->second.first;
  }
  /// Whether the node is watched for a claim.
  [[nodiscard]] bool is_watched(const std::string& path) {
    const claim* const own = owner_of(path);
    return (awaits(path) || (own != nullptr && own->is_watched())) &&
           nodes_.is_watched(path, watch_kind::node);
  }
  /// Ends a watch if no claim waits for the node.
  void end_unneeded(const std::string& path, watch_kind kind) {
    if (awaits(path)) return;
    nodes_.forget_unreadable(path);
    if (owner_of(path) != nullptr) return;  // which needs the same watch
    if (kind == watch_kind::children && others_watch_(path)) return;
    if (nodes_.is_watched(path, kind)) nodes_.end_watch(path, kind);
  }

 private:
  wire_nodes& nodes_;
  const layout style_;
  const std::function<bool(const std::string&)> others_watch_;
  std::uint64_t last_serial_ = 0;
  claims claims_;
  std::unordered_map<owner_id, owner_id> owners_;      // by the guid in the names of their nodes
  std::map<std::string, std::set<owner_id>> waiters_;  // by node
  std::map<owner_id, std::pair<std::string, watch_kind>> awaited_;
};

}  // namespace holdfast::zookeeper
