// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "simulation/ledger.hpp"
#include "simulation/witness.hpp"
#include "simulation/zookeeper/ensemble.hpp"
#include "stores/zookeeper/protocol/layout.hpp"

namespace holdfast::sim {

/// Knows after each change that the leader decides who holds what, by Curator's recipes and nothing else:
/// grants in their order, for the witness; and holds clients to it that nobody believes in a hold whose nodes
/// are gone, that nobody but an operator removes others' nodes, and that a release wakes one exclusive waiter
/// and no more.
///
/// An owner's nodes are known by the latter half of its id, which is in all their names.
class recipe_ledger final : public ledger {
 public:
  recipe_ledger(scene& in, const site& at, ensemble& servers, std::string root, zookeeper::layout layout);

  void compare_with(const witness& w) { sees_ = &w; }
  /// What Curator's Revoker writes.
  static constexpr std::string_view revoke_message = "__REVOKE__";
  /// As which it appears at the servers.
  [[nodiscard]] owner_id alias_of(const owner_id& owner);
  /// An owner is told that its claim has ended.
  void notified(const store::notification& n);
  /// Whether the clients' names have no claims left, and which has.
  [[nodiscard]] std::string leftover() const;

  [[nodiscard]] bool answers_for(const owner_id& owner) const override;
  /// What a client is told of an end, or of a refusal, is made of more than one answer.
  [[nodiscard]] bool surely_lives(const store::hold& /*h*/) const override { return false; }
  [[nodiscard]] bool has_turned_away(const owner_id& /*owner*/) const override { return true; }
  [[nodiscard]] bool is_ended_by_hand(const owner_id& owner) const override {
    return ended_by_hand_.contains(maker_of(owner));
  }
  [[nodiscard]] grant grant_of(const store::hold& h) const override;

  // For clients of others.
  [[nodiscard]] bool holds(const std::string& node) const { return holding_nodes_.contains(node); }
  /// Whether one stands before another in that queue.
  [[nodiscard]] bool is_before(const std::string& queue, const zookeeper::contender& one,
                               const zookeeper::contender& other) const;
  [[nodiscard]] std::vector<std::string> nodes_of_holders(std::size_t name) const;
  [[nodiscard]] const std::string& path_of(std::size_t name) const { return paths_.at(name); }
  /// One of our clients is about to end the holds of a name, its own included.
  using process = std::pair<const host*, std::uint32_t>;
  void force_releases(std::size_t name, process by, instant until) {
    force_released_until_.at(name)[by] = until;
  }

 private:
  using maker = std::uint64_t;
  struct holder {
    maker made_by = 0;
    std::int64_t weight = 0;
    std::uint64_t token = 0;
    std::vector<std::string> nodes;

    friend bool operator==(const holder&, const holder&) = default;
  };
  struct claimed {
    std::int64_t session = 0;
    std::optional<zookeeper::contender> as;
    maker made_by = 0;
    std::vector<std::string> data;  // that its session has written, without requests to release
    bool has_met_revoker = false;   // of Curator
  };
  [[nodiscard]] static maker maker_of_alias(const owner_id& id);
  [[nodiscard]] maker maker_of(const owner_id& owner) const;
  void changed(const transaction& t);
  void written(const transaction& t);
  void require_request(const transaction& t, std::size_t name, claimed& c);
  [[nodiscard]] bool is_queued(std::size_t name, maker by) const;
  [[nodiscard]] static std::string without_request(std::string_view data);
  void went(const transaction& t, const std::string& path);
  void woken(const std::string& path, std::int64_t session);
  [[nodiscard]] bool is_force_released(std::size_t name) const;
  [[nodiscard]] std::size_t name_at(const std::string& path) const;
  void decide_anew(std::size_t name);
  [[nodiscard]] std::vector<holder> holders_of_lock(std::size_t name) const;
  [[nodiscard]] std::vector<holder> holders_of_permits(std::size_t name) const;
  void require_beliefs_true(std::size_t name) const;

  scene& in_;
  ensemble& servers_;
  zookeeper::layout layout_;
  std::array<std::string, names> paths_;
  const witness* sees_ = nullptr;

  std::unordered_map<owner_id, owner_id> aliases_;
  std::unordered_map<maker, owner_id> owners_;  // the reverse
  std::unordered_map<maker, int> nodes_of_;
  std::unordered_map<std::string, claimed> claimed_;  // all nodes of sessions, by path
  std::unordered_set<maker> ended_by_hand_;
  std::unordered_set<maker> requested_;  // to release
  std::array<std::vector<holder>, names> holders_;
  std::set<std::string, std::less<>> holding_nodes_;
  std::unordered_map<std::uint64_t, std::uint64_t> grants_;  // token -> which grant
  std::unordered_map<maker, std::uint64_t> last_of_;
  std::uint64_t last_grant_ = 0;
  std::array<std::map<process, instant>, names> force_released_until_;
  std::unordered_map<std::string, std::int64_t> gone_;  // nodes, and whose they were
  std::unordered_map<std::string, std::set<std::int64_t>> woken_;
};

}  // namespace holdfast::sim
