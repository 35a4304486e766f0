// SPDX-License-Identifier: Apache-2.0
// idle: N waiters queued behind a name that is held throughout. Once all are in the queue and have come to
// rest, what does waiting cost this process?

#include <atomic>
#include <thread>

#include "bench/completion.hpp"
#include "bench/scenarios.hpp"
#include <holdfast/mutex.hpp>

namespace holdfast::cli {

namespace {

using namespace std::chrono_literals;

/// Waits until the store has all of them, and a while longer for the work that queueing causes.
void let_settle(const client& locks, const std::string& name, std::int64_t waiters, first_problem& problem) {
  progress shown{"idle"};
  std::int64_t queued = 0;
  wait_until(
      shown,
      [&] {
        problem.check(locks.url());
        const auto lock = locks.inspect(name);
        queued = lock ? std::ssize(lock->waiters) : 0;
        return queued >= waiters;
      },
      [&] { return fmt::format("{} of {} waiters queued", queued, waiters); });
  std::this_thread::sleep_for(1s);
}

}  // namespace

bench_result bench_idle(const bench_command& request) {
  const auto waiters = request.count.value_or(1'000);
  const auto length = request.length.value_or(10s);
  const auto name = bench_name("idle");
  first_problem problem;
  std::atomic<std::int64_t> left = waiters;

  auto locks = open_for_bench(request);
  mutex holder{locks, name};
  auto held = holder.acquire();
  detail::handle queue{locks, name, 0, std::nullopt};
  std::vector<detail::pending> pending;
  pending.reserve(static_cast<std::size_t>(waiters));
  for (std::int64_t i = 0; i < waiters; ++i) {
    pending.push_back(queue.async_acquire({}, on_completion([&](detail::outcome ended) {
                                            if (ended.granted || ended.code != errc::cancelled)
                                              problem.note(ended.code, std::move(ended.detail));
                                            --left;
                                          })));
  }
  let_settle(locks, name, waiters, problem);
  const double cpu_percent = cpu_percent_over(length, progress{"idle"});
  const bool kept = held.held() && left == waiters;

  for (auto& each : pending) each.cancel();
  while (left > 0) std::this_thread::sleep_for(1ms);
  if (!kept)
    throw failure{internal_error,
                  "idle: the lock was lost, or granted to a waiter, while it was held; there are no figures"};
  return {{{"count", waiters}, {"duration_s", to_seconds(length)}},
          {{"cpu_percent", cpu_percent, "of one core, for all waiters together"}}};
}

}  // namespace holdfast::cli
