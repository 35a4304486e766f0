#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "stores/zookeeper/protocol/claim.hpp"

namespace holdfast::zookeeper {

/// All claims of a client, by owner and by node.
class claim_table {
 public:
  using claims = std::unordered_map<owner_id, claim>;

  /// The serial of the next claim.
  [[nodiscard]] std::uint64_t next_serial() { return ++last_serial_; }
  /// Each owner has one claim: a new one replaces the former.
  claim& add(claim c) { return claims_.insert_or_assign(owner_id{c.wish.owner}, std::move(c)).first->second; }
  /// Null if the claim has gone.
  [[nodiscard]] claim* find(const claim_ref& ref) {
    claim* const c = find(ref.owner);
    return c != nullptr && c->serial == ref.serial ? c : nullptr;
  }
  [[nodiscard]] claim* find(const owner_id& owner) {
    const auto found = claims_.find(owner);
    return found == claims_.end() ? nullptr : &found->second;
  }
  /// Removes `c`. Its nodes have to be disowned before.
  void erase(const claim& c) { claims_.erase(owner_id{c.wish.owner}); }

  /// The nodes of the claim are its own, but one that it removes itself by a downgrade.
  /// \param former the nodes that it had before.
  void own(const claim& c, const std::vector<std::string>& former) {
    for (const std::string& path : former) disown(path, c);
    for (const std::string& path : c.nodes()) {
      if (!c.replaces(path)) nodes_[path] = c.ref();
    }
  }
  /// Unless the node belongs to another claim by now.
  void disown(const std::string& path, const claim& c) {
    const auto found = nodes_.find(path);
    if (found != nodes_.end() && found->second.serial == c.serial) nodes_.erase(found);
  }
  [[nodiscard]] bool owns(const std::string& path) const { return nodes_.contains(path); }
  /// The claim of a node; null for nodes of others.
  [[nodiscard]] claim* owner_of(const std::string& path) {
    const auto found = nodes_.find(path);
    return found == nodes_.end() ? nullptr : find(found->second);
  }

  [[nodiscard]] const claims& all() const { return claims_; }
  /// Forgets all.
  claims take() {
    nodes_.clear();
    return std::exchange(claims_, {});
  }

 private:
  std::uint64_t last_serial_ = 0;
  claims claims_;
  std::map<std::string, claim_ref, std::less<>> nodes_;
};

}  // namespace holdfast::zookeeper
