// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <holdfast/options.hpp>

namespace holdfast::cli {

/// `holdfast fence FILE -- CMD…`
struct fence_command {
  std::string file;
  std::optional<std::int64_t> token;  ///< empty: that of HOLDFAST_TOKEN
  std::optional<duration> wait;       ///< for others that use the file; empty: without limit
  std::vector<std::string> command;
};

int perform(const fence_command& request);

}  // namespace holdfast::cli
