#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "stores/zookeeper/protocol/claim.hpp"

namespace holdfast::zookeeper {

/// All claims of a client, by owner and by node.
class claim_table {
 public:
  using claims = std::unordered_map<owner_id, claim>;

  /// Each owner has one claim: a new one replaces the former.
  claim& add(const store::claim& request) {
    claim& c = claims_[request.owner];
    c = {};
    c.serial = ++last_serial_;
    c.request = request;
    return c;
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
  [[nodiscard]] static claim_ref ref_of(const claim& c) { return {c.request.owner, c.serial}; }
  /// Removes `c`. Its nodes have to be disowned before.
  void erase(const claim& c) { claims_.erase(owner_id{c.request.owner}); }

  void own(const std::string& path, const claim& c) { nodes_[path] = ref_of(c); }
  void disown(const std::string& path) { nodes_.erase(path); }
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
