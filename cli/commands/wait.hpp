// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "store.hpp"

namespace holdfast::cli {

/// `holdfast wait NAME`: waits until the lock is free, without acquiring it.
struct wait_command {
  store_choice store;
  std::string name;
  std::optional<duration> limit;  ///< empty: as long as it takes; zero: look once
};

int perform(const wait_command& request);

}  // namespace holdfast::cli
