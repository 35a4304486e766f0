// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the floors have in common: arguments, giving up, measuring, printing, a second process.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

[[noreturn]] inline void give_up(std::string_view message) {
  std::fprintf(stderr, "%s: %.*s\n", ::program_invocation_short_name, static_cast<int>(message.size()),
               message.data());
  std::exit(1);
}

/// What was given as argv[at].
inline std::string argument(int argc, char** argv, int at) { return argc > at ? argv[at] : ""; }
inline long number(int argc, char** argv, int at, long otherwise) {
  return argc > at ? std::strtol(argv[at], nullptr, 10) : otherwise;
}

/// \return the status to end with.
inline int usage(const char* arguments) {
  std::fprintf(stderr, "usage: %s %s\n", ::program_invocation_short_name, arguments);
  return 64;
}

/// CLOCK_MONOTONIC: the same in all processes of a machine.
using clock_type = std::chrono::steady_clock;

inline double us_since(clock_type::time_point start) {
  return std::chrono::duration<double, std::micro>(clock_type::now() - start).count();
}

/// For one process to tell another through the store.
inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(clock_type::now().time_since_epoch()).count();
}
/// \param sent the now_ns() of the process that sent it, in decimals.
inline double us_since_sent(const std::string& sent) {
  return static_cast<double>(now_ns() - std::strtoll(sent.c_str(), nullptr, 10)) / 1e3;
}

struct latencies {
  std::vector<double> us;
  double seconds = 0;  // that all took together
};

/// Calls `one_hop` `count` times, after `warm_up` times that are not counted.
/// \param one_hop returns how many microseconds of the call it was about.
template <class OneHop>
latencies measure_hops(long warm_up, long count, const OneHop& one_hop) {
  for (long i = 0; i < warm_up; ++i) one_hop();
  latencies all;
  all.us.reserve(static_cast<std::size_t>(count));
  const auto begin = clock_type::now();
  for (long i = 0; i < count; ++i) all.us.push_back(one_hop());
  all.seconds = us_since(begin) / 1e6;
  return all;
}

/// The same, where all of the call counts.
template <class OnePair>
latencies measure_pairs(long warm_up, long count, const OnePair& one_pair) {
  return measure_hops(warm_up, count, [&] {
    const auto start = clock_type::now();
    one_pair();
    return us_since(start);
  });
}

/// \param more keys of this floor alone, each with a comma and a space behind it.
inline void print(const std::string& scenario, const char* store, latencies all,
                  const std::string& more = "") {
  auto& us = all.us;
  std::sort(us.begin(), us.end());
  std::printf(
      "{\"scenario\": \"%s\", \"store\": \"%s\", %s\"count\": %zu, \"p50_us\": %.2f, \"p99_us\": %.2f, "
      "\"per_s\": %.0f}\n",
      scenario.c_str(), store, more.c_str(), us.size(), us[us.size() / 2], us[us.size() * 99 / 100],
      static_cast<double>(us.size()) / all.seconds);
}

/// Forks. \return 0 in the second process, which is killed with this one.
inline pid_t second_process() {
  const pid_t other = ::fork();
  if (other == 0) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  return other;
}
