#pragma once

#include <optional>

#include "store.hpp"

namespace holdfast::cli {

/// `holdfast doctor`
struct doctor_command {
  store_choice store;
  std::optional<duration> ttl;  ///< the longest in use; empty: the default of the library
  bool all = false;             ///< print what is kept, too
};

int perform(const doctor_command& request);

}  // namespace holdfast::cli
