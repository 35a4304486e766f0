// SPDX-License-Identifier: Apache-2.0
// held: N leases, each on a name of its own, kept by one client. What do they cost while nothing happens
// but their renewal: processor time over at least one full round of renewals, and memory for each?

#include <algorithm>
#include <atomic>
#include <fstream>
#include <malloc.h>
#include <unistd.h>

#include "bench/completion.hpp"
#include "bench/scenarios.hpp"

namespace holdfast::cli {

namespace {

using namespace std::chrono_literals;

double resident_bytes() {
  ::malloc_trim(0);
  std::int64_t all_pages = 0;
  std::int64_t resident_pages = 0;
  std::ifstream{"/proc/self/statm"} >> all_pages >> resident_pages;
  return static_cast<double>(resident_pages * ::sysconf(_SC_PAGESIZE));
}

/// Acquires so many leases, so many of them at a time.
class collector {
 public:
  collector(client& locks, std::int64_t count) : locks_{locks}, leases_(static_cast<std::size_t>(count)) {}

  void collect(std::int64_t concurrency) {
    progress shown{"held"};
    busy_ = std::min(concurrency, std::ssize(leases_));
    for (std::int64_t i = busy_; i > 0; --i) acquire_next();
    wait_until(
        shown, [&] { return busy_ == 0; },
        [&] { return fmt::format("{} of {} leases", acquired_.load(), leases_.size()); });
    problem_.check(locks_.url());
  }

  [[nodiscard]] std::int64_t lost() const {
    return std::ranges::count_if(leases_, [](const lease& each) { return !each.held(); });
  }

 private:
  void acquire_next() {
    const auto index = next_++;
    if (index >= leases_.size() || problem_.any()) {
      --busy_;
      return;
    }
    // Kept alive by its own completion: what is measured is leases, not lock objects.
    auto name =
        std::make_shared<detail::handle>(locks_, bench_name(fmt::format("held-{}", index)), 0, std::nullopt);
    auto* lock = name.get();
    lock->async_acquire({}, on_completion([this, index, name](detail::outcome ended) {
                          if (ended.code) problem_.note(ended.code, std::move(ended.detail));
                          leases_[index] = std::move(ended.granted);
                          ++acquired_;
                          acquire_next();
                        }));
  }

  client& locks_;
  std::vector<lease> leases_;
  first_problem problem_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::size_t> acquired_ = 0;
  std::atomic<std::int64_t> busy_ = 0;
};

}  // namespace

bench_result bench_held(const bench_command& request) {
  const auto count = request.count.value_or(10'000);
  const auto ttl = request.ttl.value_or(lock_options{}.ttl());
  const auto renewal_period = ttl / 3;
  const auto length = std::max(request.length.value_or(10s), renewal_period + 1s);

  auto locks = open_for_bench(request);
  collector{locks, 1}.collect(1);  // the set-up of the first lease does not count
  collector leases{locks, count};
  const double bytes_before = resident_bytes();
  leases.collect(request.concurrency.value_or(256));
  const double bytes_after = resident_bytes();
  const double cpu_percent = cpu_percent_over(length, progress{"held"});
  const auto lost = leases.lost();
  return {{{"count", count}, {"ttl_s", to_seconds(ttl)}, {"duration_s", to_seconds(length)}},
          {{"cpu_percent", cpu_percent, "of one core, for the renewal of all"},
           {"bytes_per_lease", (bytes_after - bytes_before) / static_cast<double>(count), "resident memory"},
           {"lost", static_cast<double>(lost), "leases that ended although nobody released them"}}};
}

}  // namespace holdfast::cli
