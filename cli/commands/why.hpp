// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "store.hpp"

namespace holdfast::cli {

/// `holdfast why NAME`, `holdfast why --all`
struct why_command {
  store_choice store;
  std::string name;  ///< empty with `all`
  bool all = false;  ///< every deadlock of the store, instead of one name
};

int perform(const why_command& request);

}  // namespace holdfast::cli
