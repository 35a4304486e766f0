// SPDX-License-Identifier: Apache-2.0
#include "runtime/process.hpp"

#include <atomic>
#include <pthread.h>

namespace holdfast::runtime {

namespace {

std::atomic<std::uint32_t> generation = 0;
thread_local bool own_thread = false;

[[maybe_unused]] const int registered = ::pthread_atfork(nullptr, nullptr, [] {
  generation.fetch_add(1, std::memory_order_relaxed);
  own_thread = false;
});

}  // namespace

std::uint32_t process_generation() noexcept { return generation.load(std::memory_order_relaxed); }
bool is_own_thread() noexcept { return own_thread; }
void mark_own_thread() noexcept { own_thread = true; }

}  // namespace holdfast::runtime
