// SPDX-License-Identifier: Apache-2.0
// Runs worlds, and says how to see again what went wrong in one.

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <malloc.h>
#include <memory>
#include <sqlite3.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulation/arguments.hpp"
#include "simulation/memory_store.hpp"
#include "simulation/quorum/quorum_fault_injector.hpp"
#include "simulation/redis_store.hpp"
#include "simulation/sql_store.hpp"
#include "simulation/world.hpp"

namespace {

using namespace holdfast::sim;

std::unique_ptr<simulated_store> redis_of(const arguments& a, mutant with) {
  auto store = std::make_unique<redis_store>(with);
  if (a.control || a.guard || a.replicas != 0) store->demand_replicas(a.replicas);
  if (a.control || a.guard) store->demand_guard(a.guard);
  if (a.control || a.min_replicas) store->demand_min_replicas(a.min_replicas);
  // A server that keeps each write forgets grants in a failover all the same.
  if (a.guard && a.only == "failover") store->keep_each_write();
  return store;
}

std::unique_ptr<simulated_store> store_of(const arguments& a, mutant with) {
  if (a.store == "sql") return std::make_unique<sql_store>(with);
  if (a.store == "memory") return std::make_unique<memory_store>();
  if (a.store == "redis") return redis_of(a, with);
  throw std::invalid_argument{"no such store: " + a.store};
}

bool has_own_world(const arguments& a) { return a.store == "zookeeper" || a.store == "redlock"; }

std::string replay(const arguments& a, std::string_view mutant, std::uint64_t seed) {
  return "test_sim --store " + a.store + " --seed " + std::to_string(seed) + " --trace" +
         (a.scenario.empty() ? "" : " --scenario " + a.scenario) +
         (mutant.empty() ? "" : " --mutant " + std::string{mutant}) + (a.control ? " --control" : "") +
         (a.false_notifications ? " --false-notifications" : "") + (a.elections ? " --elections" : "") +
         (a.guard ? " --guard" : "") + (a.min_replicas ? " --min-replicas" : "") +
         (a.only.empty() ? "" : " --only " + a.only) +
         (a.replicas == 0 ? "" : " --replicas " + std::to_string(a.replicas));
}

/// One in a hundred is run twice, on the same store, which has forgotten everything in between.
bool is_run_twice(std::uint64_t seed) { return seed % 100 == 0; }

struct totals {
  std::uint64_t worlds = 0;
  std::uint64_t operations = 0;
  std::uint64_t requests = 0;
  std::uint64_t refusals = 0;
  std::uint64_t forgotten = 0;
  std::uint64_t grants = 0;
  std::uint64_t overlaps = 0;
  std::uint64_t stale_refused = 0;
  std::uint64_t events = 0;
  std::uint64_t foreign_holds = 0;
  std::uint64_t foreign_followed = 0;
  std::uint64_t left_free = 0;

  void add(const outcome& o) {
    ++worlds;
    operations += o.operations;
    requests += o.requests;
    refusals += o.refusals;
    forgotten += o.forgotten;
    grants += o.grants;
    overlaps += o.excused_overlaps;
    stale_refused += o.stale_refused;
    events += o.events;
    foreign_holds += o.foreign_holds;
    foreign_followed += o.foreign_followed;
    left_free += o.left_free;
  }
};

/// With partitions, a paused client may be idle while its server is demoted and promoted.
std::vector<fault_injector::kind> kinds_of(const std::string& only) {
  using of_quorum = quorum_fault_injector::fault;
  if (only == "memory") {
    return {static_cast<fault_injector::kind>(of_quorum::restart_empty),
            static_cast<fault_injector::kind>(of_quorum::restart_older)};
  }
  if (only == "clocks") return {static_cast<fault_injector::kind>(of_quorum::clock_step)};
  const auto failover = static_cast<fault_injector::kind>(server_fault_injector::fault::failover);
  if (only != "partition") return {failover};
  return {failover, static_cast<fault_injector::kind>(server_fault_injector::fault::partition),
          static_cast<fault_injector::kind>(fault_injector::client_fault::pause)};
}

/// Lives worlds in one process.
class runner {
 public:
  explicit runner(const arguments& a, mutant with = mutant::none)
      : arguments_{a}, store_{has_own_world(a) ? nullptr : store_of(a, with)} {
    under_.with = with;
    under_.prints = a.trace;
    under_.has_false_notifications = a.false_notifications;
    under_.has_elections = a.elections;
    under_.breaks_conditions = a.control;
    if (a.control || !a.only.empty()) under_.only = kinds_of(a.only);
  }

  bool went_another_way = false;

  /// With a violation if another run of the seed goes another way, where it is run twice.
  [[nodiscard]] outcome live(std::uint64_t seed) {
    outcome o = live_once(seed);
    const bool twice = o.violation.empty() && (arguments_.twice || is_run_twice(seed));
    if (twice && live_once(seed).hash != o.hash) {
      o.violation = "another run of it went another way";
      went_another_way = true;
    }
    return o;
  }

 private:
  [[nodiscard]] outcome live_once(std::uint64_t seed) {
    if (!arguments_.scenario.empty()) return run_scenario(arguments_.scenario, under_);
    if (store_) return run(*store_, seed, under_);
    return arguments_.store == "redlock" ? run_on_quorum(seed, under_) : run_on_ensemble(seed, under_);
  }

  const arguments& arguments_;
  std::unique_ptr<simulated_store> store_;
  circumstances under_;
};

void print_violation(const arguments& a, std::uint64_t seed, const char* message,
                     std::string_view mutant = {}) {
  std::printf("seed %llu: %s\n  %s\n", static_cast<unsigned long long>(seed), message,
              replay(a, mutant, seed).c_str());
  std::fflush(stdout);
}

void print_summary(const totals& all, std::clock_t processor_time) {
  const double took = static_cast<double>(processor_time) / CLOCKS_PER_SEC;
  const double worlds = static_cast<double>(std::max<std::uint64_t>(all.worlds, 1));
  const auto each = [&](std::uint64_t n) { return static_cast<double>(n) / worlds; };
  const auto whole = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
  std::printf(
      "%llu seeds in %.1f s of a core, %.0f a second; each %.0f operations, %.0f requests, %.0f grants, %.0f "
      "events; %llu overlaps while conditions were broken, %llu stale writes refused; %llu holds of foreign "
      "clients, %llu followed by a waiter in time; %llu moments left free for them; %llu names forgotten; "
      "%llu errors answered\n",
      whole(all.worlds), took, worlds / took, each(all.operations), each(all.requests), each(all.grants),
      each(all.events), whole(all.overlaps), whole(all.stale_refused), whole(all.foreign_holds),
      whole(all.foreign_followed), whole(all.left_free), whole(all.forgotten), whole(all.refusals));
}

/// Whether a world shows it; the first that does is printed.
bool is_caught(const arguments& a, const named_mutant& m) {
  runner lives{a, m.which};
  const std::string name{m.name};
  for (std::uint64_t seed = a.from; seed < a.from + a.seeds; ++seed) {
    const outcome o = lives.live(seed);
    if (o.violation.empty()) continue;
    print_violation(a, seed, o.violation.c_str(), m.name);
    if (lives.went_another_way) return false;
    std::printf("%s: caught after %llu seeds\n", name.c_str(),
                static_cast<unsigned long long>(seed - a.from + 1));
    std::fflush(stdout);
    return true;
  }
  std::printf("%s: survived\n", name.c_str());
  return false;
}

int search_mutants(const arguments& a) {
  bool all_are_caught = true;
  for (const named_mutant& m : a.mutants) all_are_caught = is_caught(a, m) && all_are_caught;
  return all_are_caught ? 0 : 1;
}

int run_collected(const std::string& file) {
  bool all_hold = true;
  for (const arguments& a : read_collected(file)) {
    const outcome o = runner{a}.live(a.from);
    if (o.violation.empty()) continue;
    print_violation(a, a.from, o.violation.c_str());
    all_hold = false;
  }
  return all_hold ? 0 : 1;
}

int run_worlds(const arguments& a) {
  constexpr std::uint64_t enough = 20;  // violations
  runner lives{a};
  totals all;
  std::uint64_t violations = 0;
  const std::clock_t start = std::clock();
  for (std::uint64_t seed = a.from; seed < a.from + a.seeds && violations < enough; ++seed) {
    const outcome o = lives.live(seed);
    all.add(o);
    if (o.violation.empty()) continue;
    ++violations;
    print_violation(a, seed, o.violation.c_str());
  }
  print_summary(all, std::clock() - start);
  if (a.control && all.overlaps == 0) {
    std::printf("failovers made nobody overlap: this simulator sees nothing\n");
    return 1;
  }
  return violations == 0 ? 0 : 1;
}

int run_all(const arguments& a) {
  if (!a.collected.empty()) return run_collected(a.collected);
  if (!a.mutants.empty()) return search_mutants(a);
  return run_worlds(a);
}

/// One thread needs none of SQLite's mutexes, and nobody asks what memory it takes. What a world frees the
/// next one takes again: given back to the system in between, that was a seventh of the time on SQL.
void save_time() {
  ::sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
  ::sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  constexpr int kept_bytes = 64 << 20;
  ::mallopt(M_TRIM_THRESHOLD, kept_bytes);
  ::mallopt(M_MMAP_THRESHOLD, kept_bytes);
}

}  // namespace

int main(int argc, char** argv) {
  save_time();
  try {
    return run_all(read({argv + 1, argv + argc}));
  } catch (const std::invalid_argument& e) {
    std::fprintf(stderr, "%s\n%s", e.what(), usage);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
  }
  return 2;
}
