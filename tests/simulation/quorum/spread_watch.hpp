// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulation/quorum/quorum_store.hpp"
#include "simulation/surroundings.hpp"

namespace holdfast::sim {

/// Requires that a hold stands at every server, or waits there, that nothing has hindered since its last
/// renewal: else the next server that fails may take the majority with it.
class spread_watch {
 public:
  spread_watch(surroundings& around, quorum_store& store) : around_{around}, store_{store} {}

  void start();
  void stop() { is_stopped_ = true; }

 private:
  void look();
  [[nodiscard]] bool is_due(const witness::belief& b, std::size_t server) const;

  surroundings& around_;
  quorum_store& store_;
  bool is_stopped_ = false;
};

}  // namespace holdfast::sim
