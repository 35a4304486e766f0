#pragma once

#include <string>

#include "store.hpp"

namespace holdfast::cli {

/// `holdfast release --force NAME`
struct release_command {
  store_choice store;
  std::string name;
  bool force = false;
};

int perform(const release_command& what);

}  // namespace holdfast::cli
