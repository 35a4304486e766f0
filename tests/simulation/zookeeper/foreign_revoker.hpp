// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulation/zookeeper/recipe_ledger.hpp"

namespace holdfast::sim {

/// A Java program that asks holders of locks to release, now and then, by Curator's Revoker: it writes one
/// word in the place of their data.
class foreign_revoker {
 public:
  foreign_revoker(scene& in, randomness& chance, ensemble& servers, const recipe_ledger& counts)
      : in_{in}, chance_{chance}, servers_{servers}, counts_{counts} {}

  void live();
  void retire() { is_retired_ = true; }

 private:
  void revoke();

  scene& in_;
  randomness& chance_;
  ensemble& servers_;
  const recipe_ledger& counts_;
  bool is_retired_ = false;
};

}  // namespace holdfast::sim
