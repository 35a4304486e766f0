// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store.hpp"

namespace holdfast::cli {

/// `holdfast top`
struct top_command {
  store_choice store;
};

int perform(const top_command& request);

}  // namespace holdfast::cli
