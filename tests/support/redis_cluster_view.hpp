// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

/// The nodes and slots of a Redis Cluster as one node knows them: its reply to CLUSTER NODES.
class redis_cluster_view {
 public:
  /// From the first slot to the last one.
  struct range {
    int first = 0;
    int last = 0;
    std::string owner{};  ///< a node id
    bool operator==(const range&) const = default;
  };
  struct node {
    std::string id{};
    std::string primary{};   ///< the node id that a replica follows; empty for a primary
    bool is_usable = false;  ///< not in handshake, not failed, and its address is known
    bool is_connected = false;
    std::vector<range> slots{};
  };

  static constexpr std::size_t slot_count = 16384;

  explicit redis_cluster_view(std::string_view nodes);

  [[nodiscard]] const std::vector<node>& nodes() const noexcept { return nodes_; }
  /// Null for an unknown node.
  [[nodiscard]] const node* find(std::string_view id) const;
  /// The node id; empty when nobody owns the slot.
  [[nodiscard]] std::string owner_of(int slot) const;
  /// In the order of slots. Equal views have equal ranges.
  [[nodiscard]] std::vector<range> slots() const;
  /// All 16384 slots have an owner that is usable.
  [[nodiscard]] bool is_covered() const;

 private:
  std::vector<node> nodes_;
};

}  // namespace holdfast::test
