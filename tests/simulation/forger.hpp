// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulation/surroundings.hpp"

namespace holdfast::sim {

/// Somebody who may not lock anything, but sees who waits and holds, and can send notifications: now and then
/// a false one about a claim that stands at the store. It may cost a request to find out; nobody may believe
/// it.
class forger {
 public:
  forger(surroundings& around, instant until) : around_{around}, until_{until} {}

  void start() { next(); }

 private:
  void next();
  void forge();

  surroundings& around_;
  instant until_;
};

}  // namespace holdfast::sim
