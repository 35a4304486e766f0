// pair: one blocking thread locks and unlocks one free name. Lock and unlock are timed together, because
// the unlock does not wait for the store, and the next lock pays for that.

#include <algorithm>
#include <fmt/core.h>

#include "bench_scenarios.hpp"
#include <holdfast/mutex.hpp>

namespace holdfast::cli {

namespace {

double timed_pair(mutex& lock) {
  const auto start = bench_clock::now();
  lock.lock();
  lock.unlock();
  return to_seconds(bench_clock::now() - start) * 1e6;
}

}  // namespace

bench_result bench_pair(const bench_command& what) {
  const auto count = what.count.value_or(what.length ? 100'000'000 : 10'000);
  auto locks = open_for_bench(what);
  mutex lock{locks, bench_name("pair")};
  const auto warm_up = std::clamp<std::int64_t>(count / 10, 1, 1'000);
  for (std::int64_t i = 0; i < warm_up; ++i) timed_pair(lock);

  progress shown{"pair"};
  std::vector<double> samples_us;
  const auto start = bench_clock::now();
  const auto end = what.length ? start + *what.length : bench_clock::time_point::max();
  while (std::ssize(samples_us) < count && bench_clock::now() < end) {
    samples_us.push_back(timed_pair(lock));
    shown.step(fmt::format("{} pairs", samples_us.size()));
  }
  const double elapsed_s = to_seconds(bench_clock::now() - start);
  const auto pairs = static_cast<double>(samples_us.size());
  return {{{"count", samples_us.size()}},
          {{"p50_us", percentile(samples_us, 0.50), "lock and unlock together, median"},
           {"p99_us", percentile(samples_us, 0.99), "one in a hundred takes longer"},
           {"per_s", pairs / elapsed_s, "pairs a second"}}};
}

}  // namespace holdfast::cli
