// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "store.hpp"

namespace holdfast::cli {

/// `holdfast show NAME`
struct show_command {
  store_choice store;
  std::string name;
  bool quiet = false;  ///< only the status: whether the lock is held
};

int perform(const show_command& request);

}  // namespace holdfast::cli
