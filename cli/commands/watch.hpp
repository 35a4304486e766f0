// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "store.hpp"

namespace holdfast::cli {

/// `holdfast watch [NAME]`
struct watch_command {
  store_choice store;
  std::string name;  ///< empty: all
};

int perform(const watch_command& request);

}  // namespace holdfast::cli
