// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/mutant.hpp"

namespace holdfast::sim {

extern const char* const usage;

/// What test_sim is to do.
struct arguments {
  std::string store = "redis";
  std::uint64_t from = 1;
  std::uint64_t seeds = 100;
  std::vector<named_mutant> mutants;  // each is searched for by itself
  std::string collected;              // a file of seeds, see read_collected
  bool trace = false;
  bool control = false;
  bool twice = false;
  bool false_notifications = false;
  bool elections = false;
  std::string scenario;
  std::string only;  // that kind of fault
  bool guard = false;
  bool min_replicas = false;
  unsigned replicas = 0;
};

/// \throws std::invalid_argument
[[nodiscard]] arguments read(const std::vector<std::string_view>& words);
/// Reads a file of seeds. A line has the arguments of one world, '#', the commit that mended what it found,
/// and a few words: `--store redis --seed 7 # 03c34c79 what was wrong`.
/// \throws std::invalid_argument names the line that has another shape.
[[nodiscard]] std::vector<arguments> read_collected(const std::string& file);

}  // namespace holdfast::sim
