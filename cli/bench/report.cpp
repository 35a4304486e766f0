// SPDX-License-Identifier: Apache-2.0
#include "bench/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <sys/resource.h>
#include <thread>

#include "output/table.hpp"
#include "output/text.hpp"

namespace holdfast::cli {

namespace {

/// Figures are measured, not computed: digits beyond the third behind the point are noise.
json rounded(double value) {
  if (value == std::floor(value)) return static_cast<std::int64_t>(value);
  return std::round(value * 1000) / 1000;
}

std::string number_text(double value) {
  if (value == std::floor(value)) return fmt::format("{:.0f}", value);
  return fmt::format("{:.{}f}", value, std::abs(value) >= 1000 ? 0 : std::abs(value) >= 10 ? 1 : 3);
}

std::chrono::microseconds to_microseconds(const timeval& time) noexcept {
  return std::chrono::seconds{time.tv_sec} + std::chrono::microseconds{time.tv_usec};
}

/// User and system, all threads.
std::chrono::microseconds cpu_time() noexcept {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return to_microseconds(used.ru_utime) + to_microseconds(used.ru_stime);
}

}  // namespace

void print(const bench_result& result, const bench_command& request, const std::string& store) {
  if (request.store.json) {
    json object{{"scenario", request.scenario}, {"store", store}};
    for (const auto& [name, value] : result.parameters.items()) object[name] = rounded(value);
    for (const auto& each : result.figures) object[each.name] = rounded(each.value);
    return print_line(object);
  }
  std::string parameters;
  for (const auto& [name, value] : result.parameters.items()) {
    parameters += fmt::format("{}{} {}", parameters.empty() ? "" : ", ", name, number_text(value));
  }
  const palette colours{stdout};
  fmt::print("{} on {} ({})\n\n", colours.bold(request.scenario), printable(store), parameters);
  table lines{
      {{"FIGURE", column::side::left}, {"VALUE", column::side::right}, {"MEANING", column::side::left}}};
  for (const auto& each : result.figures) lines.add({each.name, number_text(each.value), each.meaning});
  fmt::print("{}", lines.text(colours));
}

double percentile(std::vector<double>& samples, double share) {
  if (samples.empty()) return 0;
  std::ranges::sort(samples);
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(samples.size())));
  return samples[std::clamp<std::size_t>(rank, 1, samples.size()) - 1];
}

void progress::step(std::string_view state) {
  if (!line_.on() || bench_clock::now() < next_) return;
  line_.show(fmt::format("{}: {}", task_, state));
  next_ += std::chrono::seconds{1};
}

std::string extent_text(std::int64_t done, const std::optional<std::int64_t>& count, std::string_view things,
                        bench_clock::duration elapsed, const std::optional<duration>& length) {
  auto text = count ? fmt::format("{} of {} {}", done, *count, things) : fmt::format("{} {}", done, things);
  if (length) {
    text += fmt::format(", {:.0f} s of {:.0f} s", std::chrono::duration<double>{elapsed}.count(),
                        to_seconds(*length));
  }
  return text;
}

void wait_until(progress& shown, const std::function<bool()>& condition,
                const std::function<std::string()>& state) {
  while (!condition()) {
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    shown.step(state());
  }
}

double cpu_percent_over(duration length, progress shown) {
  using namespace std::chrono_literals;
  const auto cpu_before = cpu_time();
  const auto start = bench_clock::now();
  const auto elapsed = [&] { return std::chrono::duration_cast<duration>(bench_clock::now() - start); };
  while (elapsed() < length) {
    // Wakes rarely, because its own work is measured, too.
    std::this_thread::sleep_for(std::min<duration>(length - elapsed(), 1s));
    shown.step(fmt::format("{:.0f} s of {:.0f} s", to_seconds(elapsed()), to_seconds(length)));
  }
  return 100 * to_seconds(cpu_time() - cpu_before) / to_seconds(elapsed());
}

}  // namespace holdfast::cli
