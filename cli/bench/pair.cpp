// SPDX-License-Identifier: Apache-2.0
// pair: blocking threads lock and unlock free names, each thread its own, all on one client. Lock and
// unlock are timed together, because the unlock does not wait for the store, and the next lock pays for that.
//
// term: the same with elections: each thread campaigns and resigns.

#include <algorithm>
#include <atomic>
#include <deque>
#include <fmt/format.h>
#include <future>
#include <utility>
#include <vector>

#include "bench/scenarios.hpp"
#include "output/elapsed_line.hpp"
#include <holdfast/election.hpp>
#include <holdfast/lock_set.hpp>
#include <holdfast/mutex.hpp>

namespace holdfast::cli {

namespace {

template <class Lock>
double timed_pair(Lock& lock) {
  const auto start = bench_clock::now();
  lock.lock();
  lock.unlock();
  return to_seconds(bench_clock::now() - start) * 1e6;
}

/// An election as a lock. A resignation waits for the store, as those of other libraries do.
class leadership {
 public:
  leadership(client& locks, std::string name) : election_{locks, name} {}
  void lock() { term_ = election_.campaign("bench"); }
  void unlock() {
    if (const auto failed = term_.resign()) throw std::system_error{failed, "cannot resign"};
  }

 private:
  election election_;
  term term_;
};

/// What all threads share: each takes its pairs from what is left.
struct workload {
  std::atomic<std::int64_t> left;
  bench_clock::time_point end;
  std::atomic<std::int64_t> completed{0};
  std::atomic<std::int64_t> busy{0};
};

/// What one thread did.
struct share {
  std::vector<double> samples_us;
  bench_clock::time_point finished_at;
};

template <class Lock>
share work_through(Lock& lock, workload& work) {
  struct leave {
    workload& work;
    ~leave() { --work.busy; }
  } const at_end{work};
  share own;
  try {
    while (work.left.fetch_sub(1) > 0 && bench_clock::now() < work.end) {
      own.samples_us.push_back(timed_pair(lock));
      ++work.completed;
    }
  } catch (...) {
    work.left = 0;
    throw;
  }
  own.finished_at = bench_clock::now();
  return own;
}

struct wording {
  std::string scenario;
  std::string pair;   // what is timed
  std::string pairs;  // many of them
};

template <class Lock>
bench_result pairs_of(std::deque<Lock>& names, const bench_command& request, const wording& words) {
  const auto count = request.count.value_or(request.length ? 100'000'000 : 10'000);
  const auto warm_up = std::clamp<std::int64_t>(count / 10, 1, 1'000);
  {
    const elapsed_line shown{words.scenario + ": warming up"};
    for (auto& each : names) timed_pair(each);
    for (std::int64_t i = 0; i < warm_up; ++i) timed_pair(names.front());
  }

  progress shown{words.scenario};
  const auto start = bench_clock::now();
  workload work{count, request.length ? start + *request.length : bench_clock::time_point::max()};
  work.busy = static_cast<std::int64_t>(names.size());
  std::vector<std::future<share>> running;
  running.reserve(names.size());
  for (auto& each : names) {
    running.push_back(std::async(std::launch::async, [&] { return work_through(each, work); }));
  }
  wait_until(
      shown, [&] { return work.busy == 0; },
      [&] {
        return extent_text(work.completed, request.length ? request.count : count, words.pairs,
                           bench_clock::now() - start, request.length);
      });

  std::vector<double> samples_us;
  auto end = start;
  for (auto& each : running) {
    const auto part = each.get();
    samples_us.insert(samples_us.end(), part.samples_us.begin(), part.samples_us.end());
    end = std::max(end, part.finished_at);
  }
  const auto pairs = static_cast<double>(samples_us.size());
  return {{{"count", samples_us.size()}, {"concurrency", names.size()}},
          {{"p50_us", percentile(samples_us, 0.50), words.pair + " together, median"},
           {"p90_us", percentile(samples_us, 0.90), "one in ten takes longer"},
           {"p99_us", percentile(samples_us, 0.99), "one in a hundred takes longer"},
           {"p999_us", percentile(samples_us, 0.999), "one in a thousand takes longer"},
           {"per_s", pairs / to_seconds(end - start), words.pairs + " a second"}}};
}

}  // namespace

bench_result bench_pair(const bench_command& request) {
  auto locks = open_for_bench(request);
  const auto threads = request.concurrency.value_or(1);
  const auto names_each = request.names.value_or(1);
  const wording words{"pair", "lock and unlock", "pairs"};
  const auto measured = [&] {
    if (names_each == 1) {
      std::deque<mutex> names;
      for (std::int64_t i = 0; i < threads; ++i)
        names.emplace_back(locks, bench_name(fmt::format("pair-{}", i)));
      return pairs_of(names, request, words);
    }
    std::deque<lock_set> sets;
    for (std::int64_t i = 0; i < threads; ++i) {
      std::vector<lock_spec> all;
      for (std::int64_t each = 0; each < names_each; ++each) {
        all.emplace_back(bench_name(fmt::format("pair-{}-{}", i, each)));
      }
      sets.emplace_back(locks, std::move(all));
    }
    return pairs_of(sets, request, words);
  };
  auto result = measured();
  result.parameters["names"] = names_each;
  return result;
}

bench_result bench_term(const bench_command& request) {
  auto locks = open_for_bench(request);
  std::deque<leadership> names;
  for (std::int64_t i = 0; i < request.concurrency.value_or(1); ++i)
    names.emplace_back(locks, bench_name(fmt::format("term-{}", i)));
  return pairs_of(names, request, {"term", "campaign and resignation", "terms"});
}

}  // namespace holdfast::cli
