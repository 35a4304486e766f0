// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>

#include "faults/faults.hpp"
#include "support/amount.hpp"

namespace holdfast::faults {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool counts_memory = false;  // a sanitizer keeps what was freed
inline constexpr int share = 10;              // of what is done without
#else
inline constexpr bool counts_memory = true;
inline constexpr int share = 1;
#endif

struct usage {
  long resident_kib = 0;
  int descriptors = 0;
  int threads = 0;
};
inline usage usage_of(actor& other) {
  usage now;
  EXPECT_EQ(std::sscanf(other.ask("usage").c_str(), "usage %ld %d %d", &now.resident_kib, &now.descriptors,
                        &now.threads),
            3);
  return now;
}
inline void expect_no_growth(const usage& before, const usage& after) {
  EXPECT_EQ(after.descriptors, before.descriptors);
  EXPECT_EQ(after.threads, before.threads);
  if (counts_memory) {
    EXPECT_LE(after.resident_kib, before.resident_kib + 1024);
  }
}

}  // namespace holdfast::faults
