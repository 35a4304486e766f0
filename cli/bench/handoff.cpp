// SPDX-License-Identifier: Apache-2.0
// handoff: P processes, in each of them N contenders, for one name. Each locks and unlocks over and over.
// Timed is the hand-over: from the call of unlock in one process to the return of lock in another.
//
// A witness is built in: a counter that only the holder changes must come out as the number of grants, and
// tokens must rise from each grant to the next. Where they do not, there is no figure but a failure.

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <span>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/board.hpp"
#include "bench/scenarios.hpp"
#include "failure.hpp"
#include "run/program.hpp"

namespace holdfast::cli {

namespace {

/// The contending processes; the destructor kills those that still run.
class contending_processes {
 public:
  contending_processes(const std::string& board, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) spawn(board, i);
  }
  ~contending_processes() {
    for (const pid_t pid : pids_) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }
  contending_processes(const contending_processes&) = delete;
  contending_processes& operator=(const contending_processes&) = delete;

  /// Reaps ended processes. \return whether all have. \throws failure when one failed.
  bool all_ended() {
    std::erase_if(pids_, [](pid_t pid) {
      int status = 0;
      if (::waitpid(pid, &status, WNOHANG) != pid) return false;
      if (status == 0) return true;
      throw failure{WIFEXITED(status) ? static_cast<exit_status>(WEXITSTATUS(status)) : internal_error,
                    "a contending process failed; there are no figures"};
    });
    return pids_.empty();
  }

 private:
  void spawn(const std::string& board, std::int64_t index) {
    std::vector<std::string> arguments{"holdfast", "__contender", board, std::to_string(index)};
    pid_t pid = 0;
    const int problem =
        ::posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, pointer_list{arguments}.get(), environ);
    if (problem != 0) throw std::system_error{problem, std::generic_category(), "posix_spawn"};
    pids_.push_back(pid);
  }

  std::vector<pid_t> pids_;
};

struct fairness {
  double max_wait_ratio = 1;
  std::int64_t grants_min = 0;
  std::int64_t grants_max = 0;
};

/// The mean wait of one contender. For a contender with at most one grant, the time that it has waited.
double mean_wait_ns(const contender_results& contender, std::int64_t stopped_at_ns) {
  const auto waits = contender.later_waits.get();
  if (waits > 0) return static_cast<double>(contender.later_wait_ns.get()) / static_cast<double>(waits);
  return static_cast<double>(stopped_at_ns - contender.requested_at_ns.get());
}

fairness fairness_of(std::span<const contender_results> contenders, std::int64_t stopped_at_ns) {
  constexpr double clock_noise_ns =
      1'000;  // shorter waits count as none, because ratios of noise mean nothing
  std::vector<double> waits;
  std::vector<std::int64_t> grants;
  for (const auto& each : contenders) {
    waits.push_back(std::max(mean_wait_ns(each, stopped_at_ns), clock_noise_ns));
    grants.push_back(each.grants.get());
  }
  return {*std::ranges::max_element(waits) / *std::ranges::min_element(waits),
          *std::ranges::min_element(grants), *std::ranges::max_element(grants)};
}

void check_witness(const handoff_board& board, std::span<const contender_results> contenders) {
  std::int64_t sum = 0;
  for (const auto& each : contenders) sum += each.grants.get();
  const auto counted = board.grants.get();
  const auto violations = board.token_violations.get();
  if (sum == counted && violations == 0) return;
  throw failure{internal_error,
                fmt::format("MUTUAL EXCLUSION WAS VIOLATED: {} grants, {} counted under the lock, and {} "
                            "tokens that did not rise. Please report this, with the store and its version",
                            sum, counted, violations)};
}

struct scale {
  std::int64_t processes;
  std::int64_t contenders;
  duration length;
  std::int64_t grants_limit;
};

scale scale_of(const bench_command& request) {
  const scale size{request.processes.value_or(4), request.concurrency.value_or(4),
                   request.length.value_or(request.count ? std::chrono::hours{1} : std::chrono::seconds{5}),
                   request.count.value_or(1'000'000'000)};
  if (size.processes * size.contenders > static_cast<std::int64_t>(handoff_board::contenders_max)) {
    throw failure{bad_usage, fmt::format("--processes times --concurrency is {}, and must be at most {}",
                                         size.processes * size.contenders, handoff_board::contenders_max)};
  }
  if (request.store.url.starts_with("memory:")) {
    throw failure{bad_usage, "handoff needs a store that processes share; memory: is within one process"};
  }
  return size;
}

void prepare(handoff_board& board, const scale& size, const bench_command& request) {
  bench_name("handoff").copy(board.name.data(), board.name.size() - 1);
  board.contenders_per_process = size.contenders;
  board.one_client = request.one_client;
  board.ttl_us = request.ttl.value_or(lock_options{}.ttl()).count();
  board.grants_limit = size.grants_limit;
}

/// In the environment and not in arguments, which all users of the machine can read.
void hand_down_store(const store_choice& store) {
  ::setenv("HOLDFAST_STORE", url_of(store).c_str(), 1);
  if (const auto secret = password_of(store); !secret.empty())
    ::setenv("HOLDFAST_PASSWORD", secret.c_str(), 1);
}

struct run_times {
  std::int64_t started_at_ns;
  std::int64_t stopped_at_ns;
};

/// From the moment when everybody is ready until the time is up, enough was granted, or somebody failed.
run_times contend(handoff_board& board, const scale& size, const bench_command& request,
                  contending_processes& contenders) {
  progress shown{"handoff"};
  const auto everybody = size.processes * size.contenders;
  wait_until(
      shown, [&] { return contenders.all_ended() || board.stop || board.ready == everybody; },
      [&] { return fmt::format("{} of {} contenders ready", board.ready.load(), everybody); });
  constexpr std::int64_t head_start_ns = 20'000'000;
  const auto started_at_ns = monotonic_ns() + head_start_ns;
  const auto end_ns = started_at_ns + size.length.count() * 1'000;
  board.start_at_ns = started_at_ns;
  board.begun.open();
  const auto begun = bench_clock::now();
  const auto length = request.count ? request.length : size.length;
  const auto state = [&] {
    return extent_text(board.grants.get(), request.count, "grants", bench_clock::now() - begun, length);
  };
  wait_until(shown, [&] { return contenders.all_ended() || board.stop || monotonic_ns() >= end_ns; }, state);
  const auto stopped_at_ns = monotonic_ns();
  board.stop = true;
  wait_until(shown, [&] { return contenders.all_ended(); }, [] { return "ending the contenders"; });
  return {started_at_ns, stopped_at_ns};
}

}  // namespace

bench_result bench_handoff(const bench_command& request) {
  const auto size = scale_of(request);
  open_for_bench(request).close();  // reports a store that does not work once, and not in each process
  hand_down_store(request.store);

  const shared_board board;
  prepare(*board, size, request);
  contending_processes processes{board.path(), size.processes};
  const auto [started_at_ns, stopped_at_ns] = contend(*board, size, request, processes);

  const std::span contenders{board->contenders.data(),
                             static_cast<std::size_t>(size.processes * size.contenders)};
  check_witness(*board, contenders);
  const auto fair = fairness_of(contenders, stopped_at_ns);
  std::vector<double> samples_us;
  samples_us.reserve(static_cast<std::size_t>(board->handovers.get()));
  for (std::int64_t i = 0; i < board->handovers.get(); ++i) {
    samples_us.push_back(static_cast<double>(board->handover_ns[static_cast<std::size_t>(i)].get()) / 1e3);
  }
  const double elapsed_s = static_cast<double>(stopped_at_ns - started_at_ns) / 1e9;
  const auto grants = static_cast<double>(board->grants.get());
  return {{{"processes", size.processes},
           {"concurrency", size.contenders},
           {"clients", request.one_client ? size.processes : size.processes * size.contenders},
           {"duration_s", elapsed_s}},
          {{"per_s", grants / elapsed_s, "grants a second, hand-overs within a process included"},
           {"p50_us", percentile(samples_us, 0.50), "from unlock to lock in another process, median"},
           {"p90_us", percentile(samples_us, 0.90), "one in ten takes longer"},
           {"p99_us", percentile(samples_us, 0.99), "one in a hundred takes longer"},
           {"p999_us", percentile(samples_us, 0.999), "one in a thousand takes longer"},
           {"max_wait_ratio", fair.max_wait_ratio, "largest to smallest mean wait among contenders"},
           {"grants", grants, "counted under the lock; each token was larger than the one before"},
           {"handovers", static_cast<double>(samples_us.size()), "grants that came from another process"},
           {"grants_min", static_cast<double>(fair.grants_min), "grants of the contender with the fewest"},
           {"grants_max", static_cast<double>(fair.grants_max), "grants of the contender with the most"}}};
}

}  // namespace holdfast::cli
