// Three workers compute in phases, here three threads with a client each: no worker begins a phase before all
// have ended the one before. The main program waits on a latch until all are ready.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <holdfast/holdfast.hpp>

namespace {

using namespace std::chrono_literals;

constexpr int workers = 3;
constexpr int phases = 4;

/// What each worker has computed in a phase. A worker reads what the others have computed in the phase
/// before.
using table = std::array<std::array<std::atomic<int>, workers>, phases>;

void work(int number, const std::string& run, table& results, std::atomic<bool>& too_early) {
  holdfast::client locks{holdfast::default_store()};
  holdfast::latch ready{locks, run + "/ready", workers};
  holdfast::barrier round{locks, run + "/round", workers, holdfast::lock_options{}.wait_limit(50s)};
  ready.count_down();
  for (std::size_t phase = 0; phase < phases; ++phase) {
    if (phase > 0) {
      for (const auto& result : results.at(phase - 1)) too_early = too_early || result == 0;
    }
    results.at(phase).at(static_cast<std::size_t>(number)) = number + 1;
    round.arrive_and_wait();  // with a limit: one that died is named in the error
  }
}

}  // namespace

int main() {
  // A name for this run: what another run has left counts for its own name alone.
  const std::string run = "phases/" + std::to_string(::getpid()) + '/' +
                          std::to_string(std::chrono::system_clock::now().time_since_epoch().count());
  table results{};
  std::atomic<bool> too_early = false;
  bool all_ready = false;
  {
    std::vector<std::jthread> threads;
    for (int each = 0; each < workers; ++each) {
      threads.emplace_back([&, each] { work(each, run, results, too_early); });
    }
    holdfast::client locks{holdfast::default_store()};
    holdfast::latch ready{locks, run + "/ready", workers};
    all_ready = ready.wait_for(50s);
  }
  std::cout << (all_ready ? "all " : "not all ") << workers << " workers are ready\n";
  std::cout << (too_early ? "a worker began too early\n"
                          : "no worker began a phase before the others ended theirs\n");
  return too_early || !all_ready ? EXIT_FAILURE : EXIT_SUCCESS;
}
