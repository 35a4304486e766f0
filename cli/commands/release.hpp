#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "store.hpp"

namespace holdfast::cli {

/// `holdfast release --force NAME`
struct release_command {
  store_choice store;
  std::string name;
  bool force = false;
  std::optional<std::int64_t> token;  ///< of the one hold to end; empty: all
};

int perform(const release_command& request);

}  // namespace holdfast::cli
