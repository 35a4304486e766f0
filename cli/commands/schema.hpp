// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store.hpp"

namespace holdfast::cli {

/// `holdfast schema URL`
struct schema_command {
  store_choice store;
  bool apply = false;
  bool fences = false;  // of a resource, instead of the locks
};

int perform(const schema_command& request);

}  // namespace holdfast::cli
