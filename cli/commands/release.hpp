// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "store.hpp"

namespace holdfast::cli {

/// `holdfast release --force NAME`, `holdfast release --ask NAME`
struct release_command {
  store_choice store;
  std::string name;
  bool force = false;
  bool ask = false;                   ///< its holders to release it
  std::string reason;                 ///< with `ask`
  std::optional<std::int64_t> token;  ///< of the one hold that is meant; empty: all
};

int perform(const release_command& request);

}  // namespace holdfast::cli
