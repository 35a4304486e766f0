// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unordered_map>

#include "simulation/surroundings.hpp"

namespace holdfast::sim {

/// Holds clients to it that a holder hears of a request to release soon, where nothing hinders that and the
/// hold goes on.
class request_watch {
 public:
  struct terms {
    /// So long before the request nothing may have been hindered, either.
    duration calm_before{};
    /// A holder may hear with its next renewal only, and one that was downgraded meanwhile never.
    bool is_heard_by_renewal = false;
  };
  request_watch(surroundings& around, const terms& of) : around_{around}, terms_{of} {}

  void start();
  void stop() { is_stopped_ = true; }
  /// From now on the client of that hold can know of a request.
  void is_knowable(const owner_id& owner) { since_.try_emplace(owner, around_.in.now); }

 private:
  void look();
  [[nodiscard]] bool is_due(const witness::belief& b, instant since) const;

  surroundings& around_;
  terms terms_;
  std::unordered_map<owner_id, instant> since_;  // requests that are not known to be heard
  bool is_stopped_ = false;
};

}  // namespace holdfast::sim
