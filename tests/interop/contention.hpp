// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>

#include <holdfast/lease.hpp>

namespace holdfast::interop {

/// How long the clients contend: HOLDFAST_CONTENTION_SECONDS seconds, or 4.
inline std::chrono::milliseconds contention_time() {
  const char* seconds = std::getenv("HOLDFAST_CONTENTION_SECONDS");
  return std::chrono::seconds{seconds != nullptr ? std::atoi(seconds) : 4};
}

/// So often everybody has to be inside, however slow the machine; the others' programs know it too.
inline constexpr std::int64_t least_turns = 3;

/// Where the clients contend, and until when.
struct place {
  std::string url;
  std::string file;  ///< the witness's
  boot_clock::time_point end;
  /// For somebody who was inside so often.
  [[nodiscard]] bool open(std::int64_t turns) const { return turns < least_turns || boot_clock::now() < end; }
};

/// How often another library's client was inside, by its own count.
inline std::int64_t turns_in(const std::string& answer) {
  long long turns = 0;
  EXPECT_EQ(std::sscanf(answer.c_str(), "contended %lld", &turns), 1) << answer;
  return turns;
}

}  // namespace holdfast::interop
