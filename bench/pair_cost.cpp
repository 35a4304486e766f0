// SPDX-License-Identifier: Apache-2.0
// Locks and unlocks a free name so often, in one thread: `bench/pair_cost` counts what that costs it. The
// counters stand in for malloc and pthread_mutex_lock of the whole program.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <pthread.h>

#include <holdfast/holdfast.hpp>

namespace {

constexpr int pairs = 50;
thread_local bool counts = false;
thread_local long allocations = 0;
thread_local long locks = 0;

}  // namespace

extern "C" {

void* __libc_malloc(std::size_t size);  // NOLINT(bugprone-reserved-identifier): the C library's

void* malloc(std::size_t size) {
  if (counts) ++allocations;
  return __libc_malloc(size);
}

[[gnu::visibility("default")]] int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static const auto original =
      reinterpret_cast<int (*)(pthread_mutex_t*)>(::dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  if (counts) ++locks;
  return original(mutex);
}
}

namespace {

void lock_and_unlock(holdfast::mutex& m) {
  for (int i = 0; i < pairs; ++i) {
    m.lock();
    m.unlock();
  }
}

}  // namespace

/// Callgrind counts the instructions in here.
extern "C" [[gnu::noinline]] void measured_pairs(holdfast::mutex& m) { lock_and_unlock(m); }

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("pair_cost URL\n", stderr);
    return EXIT_FAILURE;
  }
  holdfast::client locks_of{argv[1]};
  holdfast::mutex m{locks_of, "free"};
  lock_and_unlock(m);  // what is made once is made here
  counts = true;
  measured_pairs(m);
  counts = false;
  if (locks == 0) {
    std::fputs("pair_cost: the library does not call the counters of this program\n", stderr);
    return EXIT_FAILURE;
  }
  std::printf("%.1f %.1f\n", static_cast<double>(allocations) / pairs, static_cast<double>(locks) / pairs);
}
