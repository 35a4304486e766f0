// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "store.hpp"

namespace holdfast::cli {

/// `holdfast bench SCENARIO`; what is not given has a default of the scenario's.
struct bench_command {
  store_choice store;
  std::string scenario;
  std::optional<std::int64_t> count;
  std::optional<std::int64_t> concurrency;
  std::optional<std::int64_t> names;  ///< locked together (pair)
  std::optional<std::int64_t> processes;
  bool one_client = false;
  std::optional<duration> length;
  std::optional<duration> ttl;
};

/// One process of `bench handoff`, started by it and by nobody else.
struct contender_command {
  std::string board;         ///< where the memory is found that all of them share
  std::int64_t process = 0;  ///< which one this is, from 0
};

int perform(const bench_command& request);
int perform(const contender_command& request);

}  // namespace holdfast::cli
