// SPDX-License-Identifier: Apache-2.0
// spread: N claims in flight on one client, each on a name of its own. When a release is confirmed, the
// next acquire of that name begins.

#include <algorithm>
#include <atomic>
#include <deque>

#include "bench/completion.hpp"
#include "bench/scenarios.hpp"

namespace holdfast::cli {

namespace {

/// How many pairs are still to begin, and how many names are busy with one.
struct workload {
  std::atomic<std::int64_t> left{0};
  std::atomic<std::int64_t> busy{0};
  std::atomic<std::int64_t> completed{0};
  first_problem problem;
};

/// One name, acquired and released over and over until there is no work left.
class spinner {
 public:
  spinner(client& locks, const std::string& name, workload& work)
      : name_{locks, name, 0, std::nullopt}, work_{work} {}

  void begin() {
    if (work_.left.fetch_sub(1) <= 0 || work_.problem.any()) {
      --work_.busy;
      return;
    }
    name_.async_acquire({}, on_completion([this](detail::outcome ended) {
                          if (ended.code) return stop(std::move(ended));
                          release(std::move(ended.granted));
                        }));
  }

 private:
  void release(lease held) {
    async_release(std::move(held), on_completion([this](detail::outcome ended) {
                    if (ended.code) return stop(std::move(ended));
                    ++work_.completed;
                    begin();
                  }));
  }

  void stop(detail::outcome ended) {
    work_.problem.note(ended.code, std::move(ended.detail));
    --work_.busy;
  }

  detail::handle name_;
  workload& work_;
};

/// Does so many pairs; returns how many seconds it took.
/// \param count the pairs that are shown as the goal.
double work_through(std::deque<spinner>& spinners, workload& work, std::int64_t pairs,
                    const std::optional<std::int64_t>& count, const std::optional<duration>& limit) {
  work.left = pairs;
  work.completed = 0;
  work.busy = std::ssize(spinners);
  progress shown{"spread"};
  const auto start = bench_clock::now();
  for (auto& each : spinners) each.begin();
  wait_until(
      shown,
      [&] {
        if (limit && bench_clock::now() - start >= *limit) work.left = 0;
        return work.busy == 0;
      },
      [&] { return extent_text(work.completed, count, "pairs", bench_clock::now() - start, limit); });
  return to_seconds(bench_clock::now() - start);
}

}  // namespace

bench_result bench_spread(const bench_command& request) {
  const auto concurrency = request.concurrency.value_or(256);
  const auto count = request.count.value_or(request.length ? 1'000'000'000 : 20'000);
  workload work;  // outlives the client, whose closing completes what is in flight
  std::deque<spinner> spinners;
  auto locks = open_for_bench(request);
  for (std::int64_t i = 0; i < concurrency; ++i) {
    spinners.emplace_back(locks, bench_name(fmt::format("spread-{}", i)), work);
  }
  work_through(spinners, work, concurrency, concurrency, std::nullopt);  // warm-up: each name once
  const double elapsed_s =
      work_through(spinners, work, count, request.length ? request.count : count, request.length);
  work.problem.check(locks.url());
  const auto pairs = static_cast<double>(work.completed);
  return {{{"count", work.completed.load()}, {"concurrency", concurrency}},
          {{"per_s", pairs / elapsed_s, "pairs of acquire and release a second"}}};
}

}  // namespace holdfast::cli
