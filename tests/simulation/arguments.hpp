#pragma once

#include <cstdint>
#include <string>

#include "simulation/mutant.hpp"

namespace holdfast::sim {

extern const char* const usage;

/// What test_sim is to do.
struct arguments {
  std::string store = "redis";
  std::uint64_t from = 1;
  std::uint64_t seeds = 100;
  std::uint64_t jobs = 0;  // zero: in this process
  std::string mutant_name;
  mutant with = mutant::none;
  bool trace = false;
  bool control = false;
  bool twice = false;
  bool hostile_lines = false;
  bool false_notifications = false;
  bool elections = false;
  bool rendezvous = false;
  std::string scenario;
  std::string only;  // that kind of fault
  bool guard = false;
  bool min_replicas = false;
  unsigned replicas = 0;
};

/// \throws std::invalid_argument
[[nodiscard]] arguments read(int argc, char** argv);

}  // namespace holdfast::sim
