// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "store.hpp"

namespace holdfast::cli {

/// `holdfast leader NAME`
struct leader_command {
  store_choice store;
  std::string name;
  bool watch = false;  ///< go on with each change
};

int perform(const leader_command& request);

}  // namespace holdfast::cli
