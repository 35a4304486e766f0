// SPDX-License-Identifier: Apache-2.0
// A scheduler with a hot standby: two processes campaign, here two threads with a client each. One leads and
// runs the jobs; the other takes over when the leader resigns, or one ttl after it died. Each job is stored
// with the token of its term, so that a leader that was paused cannot run a job after another leads.

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>

#include <holdfast/holdfast.hpp>

namespace {

using namespace std::chrono_literals;

/// The table of jobs, as a database keeps it: it refuses a token that is older than the last one.
class job_table {
 public:
  static constexpr int jobs = 6;

  /// \return the number of the job; zero where another leads since, or all are done.
  int take_next(holdfast::fencing_token token) {
    const std::lock_guard guard{mutex_};
    if (token < newest_ || done_ == jobs) return 0;
    newest_ = token;
    return ++done_;
  }
  bool is_done() {
    const std::lock_guard guard{mutex_};
    return done_ == jobs;
  }

 private:
  std::mutex mutex_;
  int done_ = 0;
  holdfast::fencing_token newest_;
};

void schedule(const std::string& address, job_table& table) {
  holdfast::client locks{holdfast::default_store()};
  holdfast::election scheduler{locks, "scheduler", holdfast::lock_options{}.ttl(10s)};
  while (!table.is_done()) {
    holdfast::term term = scheduler.campaign(address);  // stands by until it is elected
    for (int each = 0; each < 2 && term.held(); ++each) {
      if (const int job = table.take_next(term.token()))
        std::cout << address + " runs job " + std::to_string(job) + '\n';
    }
    if (const auto problem = term.resign()) std::cerr << "the term was over: " << problem.message() << '\n';
  }
}

}  // namespace

int main() {
  holdfast::client locks{holdfast::default_store()};
  const auto observer = holdfast::election{locks, "scheduler"}.observe([](const holdfast::observation& seen) {
    if (seen.failed) std::cerr << seen.failed->what() << '\n';
    if (seen.leader) std::cout << "the leader is at " + seen.leader->value + '\n';
  });
  job_table table;
  {
    const std::jthread first{[&] { schedule("10.0.0.7:8080", table); }};
    const std::jthread second{[&] { schedule("10.0.0.8:8080", table); }};
  }
  return table.is_done() ? EXIT_SUCCESS : EXIT_FAILURE;
}
