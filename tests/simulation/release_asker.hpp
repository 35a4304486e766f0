// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/port.hpp"
#include "simulation/host.hpp"
#include "simulation/surroundings.hpp"

namespace holdfast::sim {

/// One who works with a client, and asks holders of names to release them, now and then, until it is retired.
class release_asker {
 public:
  release_asker(surroundings& around, host& at, store::port& through)
      : around_{around}, host_{at}, port_{through} {}

  void live();
  void retire() { is_retired_ = true; }

 private:
  void ask();

  surroundings& around_;
  host& host_;
  store::port& port_;
  bool is_retired_ = false;
};

}  // namespace holdfast::sim
