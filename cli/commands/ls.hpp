// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store.hpp"

namespace holdfast::cli {

/// `holdfast ls`
struct ls_command {
  store_choice store;
  bool all = false;
};

/// The output for completions: the names, one a line, without those that a shell could misinterpret.
struct names_command {
  store_choice store;
};

int perform(const ls_command& request);
int perform(const names_command& request);

}  // namespace holdfast::cli
