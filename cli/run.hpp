#pragma once

#include <string>
#include <vector>

#include "claim.hpp"
#include "store.hpp"

namespace holdfast::cli {

/// `holdfast run NAME -- CMD…`
struct run_command {
  store_choice store;
  claim wish;
  std::vector<std::string> command;
};

int perform(const run_command& what);

}  // namespace holdfast::cli
