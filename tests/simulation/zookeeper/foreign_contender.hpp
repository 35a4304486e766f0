// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "simulation/zookeeper/recipe_ledger.hpp"

namespace holdfast::sim {

/// A Java service that uses Curator on the same names: a mutex, a read-write lock, a semaphore. It queues,
/// holds, downgrades, gives up, and dies. Nothing goes wrong between it and the leader.
class foreign_contender {
 public:
  foreign_contender(scene& in, ensemble& servers, const recipe_ledger& counts, zookeeper::layout layout)
      : in_{in}, servers_{servers}, counts_{counts}, layout_{layout} {}

  void live();
  /// Ends what it has, soon, and wants no more.
  void retire();
  [[nodiscard]] std::uint64_t holds() const { return holds_; }

 private:
  void come();
  void look();
  void hold();
  void downgrade();
  void go();
  void die();
  [[nodiscard]] bool create(std::string& node, const std::string& path, zookeeper::operation::made make);
  void remove(std::string& node);
  [[nodiscard]] std::string new_node(zookeeper::role wants);
  template <class Function>
  void after(duration d, Function f) {
    in_.after(d, [this, life = life_, f = std::move(f)] {
      if (life == life_) f();
    });
  }

  scene& in_;
  ensemble& servers_;
  const recipe_ledger& counts_;
  zookeeper::layout layout_;
  std::uint64_t life_ =
      0;  // a number for each attempt, so that what was planned for one does not touch the next
  std::int64_t session_ = 0;
  std::size_t name_ = 0;
  zookeeper::role wants_{};
  std::string node_;   // in the queue
  std::string lease_;  // of a semaphore
  bool retired_ = false;
  std::uint64_t holds_ = 0;
};

}  // namespace holdfast::sim
