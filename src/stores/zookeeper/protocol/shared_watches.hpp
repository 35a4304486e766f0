#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "stores/zookeeper/protocol/claim_table.hpp"
#include "stores/zookeeper/protocol/wire_nodes.hpp"

namespace holdfast::zookeeper {

/// The nodes that the client's claims wait for. One watch of a node serves all claims that wait for it, and
/// the claim of the node itself.
class shared_watches {
 public:
  /// All must outlive it.
  /// \param others_watch whether another part of the session needs the watch of a node's children.
  shared_watches(wire_nodes& nodes, claim_table& claims, std::function<bool(const std::string&)> others_watch)
      : nodes_{nodes}, claims_{claims}, others_watch_{std::move(others_watch)} {}
  shared_watches(const shared_watches&) = delete;
  shared_watches& operator=(const shared_watches&) = delete;

  /// The claim waits for what happens to a node, or to its children, and for nothing else.
  void await(const claim& c, const std::string& path, watch_kind kind) {
    if (awaited_by(c) != path) stop(c);
    awaited_[c.wish.owner] = {path, kind};
    waiters_[path].insert(c.wish.owner);
  }
  void stop(const claim& c) {
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
  std::set<owner_id> take(const std::string& path) {
    auto all = waiters_.extract(path);
    if (!all) return {};
    for (const owner_id& each : all.mapped()) awaited_.erase(each);
    return std::move(all.mapped());
  }
  void clear() {
    waiters_.clear();
    awaited_.clear();
  }

  /// Whether a claim waits for it.
  [[nodiscard]] bool awaits(const std::string& path) const { return waiters_.contains(path); }
  /// The node that a claim waits for; empty: none.
  [[nodiscard]] std::string awaited_by(const claim& c) const {
    const auto found = awaited_.find(c.wish.owner);
    return found == awaited_.end() ? std::string{} : found->second.first;
  }
  /// Whether the node is watched for a claim.
  [[nodiscard]] bool is_set(const std::string& path) const {
    const claim* const own = claims_.owner_of(path);
    return (awaits(path) || (own != nullptr && own->is_watched())) &&
           nodes_.is_watched(path, watch_kind::node);
  }
  /// Ends a watch if no claim waits for the node.
  void end_unneeded(const std::string& path, watch_kind kind) {
    if (awaits(path)) return;
    nodes_.forget_unreadable(path);
    if (claims_.owns(path)) return;  // the claim of the node needs the same watch
    if (kind == watch_kind::children && others_watch_(path)) return;
    if (nodes_.is_watched(path, kind)) nodes_.end_watch(path, kind);
  }

 private:
  wire_nodes& nodes_;
  claim_table& claims_;
  const std::function<bool(const std::string&)> others_watch_;
  std::map<std::string, std::set<owner_id>> waiters_;  // by node
  std::map<owner_id, std::pair<std::string, watch_kind>> awaited_;
};

}  // namespace holdfast::zookeeper
