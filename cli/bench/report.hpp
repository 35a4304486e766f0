// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/bench.hpp"
#include "output/json.hpp"
#include "output/terminal.hpp"

namespace holdfast::cli {

using bench_clock = std::chrono::steady_clock;

/// What was measured, in the order in which it is shown.
struct figure {
  std::string name;  ///< as in JSON, its unit included
  double value = 0;
  std::string meaning;  ///< for people
};

/// One run of one scenario.
struct bench_result {
  json parameters;
  std::vector<figure> figures;
};

/// A table, or with --json one line: scenario, store (its password masked), parameters, figures.
void print(const bench_result& result, const bench_command& request, const std::string& store);

/// The value below which this share of the samples lies; sorts them. Zero where there are none.
[[nodiscard]] double percentile(std::vector<double>& samples, double share);

/// Tells on a terminal, once a second, how far a long measurement has come.
class progress {
 public:
  explicit progress(std::string task) : task_{std::move(task)} {}
  /// Shows `state` if a second has passed since the last time.
  void step(std::string_view state);

 private:
  std::string task_;
  status_line line_;
  bench_clock::time_point next_ = bench_clock::now() + std::chrono::seconds{1};
};

/// How far a measurement has come that ends after a number of things, after a time, or at the first of both:
/// `4200 of 10000 pairs`, `4200 pairs, 3 s of 10 s`.
/// \param count, length empty: it does not end by that.
[[nodiscard]] std::string extent_text(std::int64_t done, const std::optional<std::int64_t>& count,
                                      std::string_view things, bench_clock::duration elapsed,
                                      const std::optional<duration>& length);

/// Waits until `condition` is true, looking every few milliseconds and telling `state`.
void wait_until(progress& shown, const std::function<bool()>& condition,
                const std::function<std::string()>& state);

/// Sleeps for so long. \return the CPU time that all threads of this process took meanwhile, of one core.
[[nodiscard]] double cpu_percent_over(duration length, progress shown);

}  // namespace holdfast::cli
