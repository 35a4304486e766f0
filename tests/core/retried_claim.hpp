// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "core/stepper.hpp"

namespace holdfast::test {

inline constexpr std::uint64_t ticket = 7;

/// A claim that is retried for 1 s, as late as may be (a stepper's chance is 0): after 10 ms, 20 ms … 80 ms.
inline store::claim retried_claim() {
  store::claim c = a_claim();
  c.retry = retry_policy{}.first(10ms).longest(80ms).limit(1s);
  return c;
}

/// Fails what is under way until the machine no longer asks; the moments at which it asked.
inline std::vector<duration> request_times_until_it_gives_up(stepper& it, stepper::step s,
                                                             const store::request_error& t) {
  std::vector<duration> moments;
  for (int i = 0; i < 1000 && s.wake_at; ++i) {
    it.pass_until(s.wake_at);
    it.wake();
    moments.push_back(std::chrono::duration_cast<duration>(it.now - epoch));
    s = it.fail(t);
  }
  return moments;
}

}  // namespace holdfast::test
