// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "simulation/simulated_store.hpp"
#include "simulation/zookeeper/recipe_ledger.hpp"
#include "simulation/zookeeper/zookeeper_link.hpp"

namespace holdfast::sim {

/// Where the clients of a world get their links. What else a simulated store can do, the ensemble's own
/// fault injector does.
class zookeeper_store final : public simulated_store {
 public:
  zookeeper_store(scene& in, ensemble& servers, recipe_ledger& counts, zookeeper_link::options of)
      : in_{in}, servers_{servers}, counts_{counts}, options_{std::move(of)} {
    options_.alias = [this](const owner_id& owner) { return counts_.alias_of(owner); };
  }

  std::unique_ptr<tickets::link> connect(host& from, line& over, duration /*reply_limit*/) override {
    auto link = std::make_unique<zookeeper_link>(servers_, in_, from, over, options_);
    link->observe_notification = [this](const store::notification& n) { counts_.notified(n); };
    link->on_force_release = [this, &from, life = from.life()](std::size_t name, instant until) {
      counts_.force_releases(name, {&from, life}, until);
    };
    return link;
  }

 private:
  scene& in_;
  ensemble& servers_;
  recipe_ledger& counts_;
  zookeeper_link::options options_;
};

}  // namespace holdfast::sim
