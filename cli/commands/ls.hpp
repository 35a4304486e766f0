#pragma once

#include "store.hpp"

namespace holdfast::cli {

/// `holdfast ls`
struct ls_command {
  store_choice store;
  bool all = false;
};

/// What completions ask: the names, one a line, none that a shell could take for more than a name.
struct names_command {
  store_choice store;
};

int perform(const ls_command& request);
int perform(const names_command& request);

}  // namespace holdfast::cli
