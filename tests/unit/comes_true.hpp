// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <thread>

namespace holdfast::test {

/// Waits until it does, half a minute at most. What is awaited happens on other threads, which tell nobody.
[[nodiscard]] bool comes_true(const auto& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{30};
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace holdfast::test
