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

  void begin(scene& /*in*/, site& /*at*/, ledger& /*account*/) override {}
  std::unique_ptr<tickets::link> connect(host& from, line& over, duration /*reply_limit*/) override {
    auto link = std::make_unique<zookeeper_link>(servers_, in_, from, over, options_);
    link->observe_notification = [this](const store::notification& n) { counts_.notified(n); };
    link->on_force_release = [this, &from, life = from.life()](std::size_t name, instant until) {
      counts_.force_releases(name, {&from, life}, until);
    };
    return link;
  }
  /// They come from the servers alone.
  void notify_all(const store::notification& /*n*/) override {}
  void heal() override {}
  [[nodiscard]] ledger::terms terms() const override { return {}; }
  [[nodiscard]] bool clock_goes_back() const override { return false; }
  [[nodiscard]] std::vector<standing> claims() override { return {}; }
  void restart() override {}
  std::optional<std::size_t> evict() override { return std::nullopt; }
  void remember() override {}
  void fall_back() override {}
  void forget() override {}
  std::string damage() override { return {}; }

 private:
  scene& in_;
  ensemble& servers_;
  recipe_ledger& counts_;
  zookeeper_link::options options_;
};

}  // namespace holdfast::sim
