// SPDX-License-Identifier: Apache-2.0
// Loaded into another process before its C library: its wall clock runs as many seconds ahead as the file
// named by HOLDFAST_TEST_WALL_CLOCK says at the moment. All its other clocks are as they are.

#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

namespace {

long ahead_seconds() {
  const char* file_name = std::getenv("HOLDFAST_TEST_WALL_CLOCK");
  if (file_name == nullptr) return 0;
  const int file = ::open(file_name, O_RDONLY | O_CLOEXEC);
  char text[32] = {};
  const ssize_t length = file < 0 ? 0 : ::read(file, text, sizeof text - 1);
  if (file >= 0) ::close(file);
  return length > 0 ? std::strtol(text, nullptr, 10) : 0;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are the C library's.
extern "C" __attribute__((visibility("default"))) int clock_gettime(::clockid_t clock,
                                                                    ::timespec* now) noexcept {
  using function = int (*)(::clockid_t, ::timespec*);
  static const auto real = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = real(clock, now);
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) now->tv_sec += ahead_seconds();
  return result;
}

extern "C" __attribute__((visibility("default"))) int gettimeofday(::timeval* now, void*) noexcept {
  ::timespec precise{};
  const int result = ::clock_gettime(CLOCK_REALTIME, &precise);
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return result;
}

extern "C" __attribute__((visibility("default"))) ::time_t time(::time_t* now) noexcept {
  ::timespec precise{};
  ::clock_gettime(CLOCK_REALTIME, &precise);
  if (now != nullptr) *now = precise.tv_sec;
  return precise.tv_sec;
}
// NOLINTEND(readability-identifier-naming)
