// Runs worlds, and says how to see again what went wrong in one.

#include <charconv>
#include <cstdio>
#include <ctime>
#include <malloc.h>
#include <memory>
#include <optional>
#include <sqlite3.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sim/memory_store.hpp"
#include "sim/redis_store.hpp"
#include "sim/sql_store.hpp"
#include "sim/world.hpp"
#include "sim/zookeeper/ensemble_world.hpp"

namespace {

using namespace holdfast::sim;

constexpr const char* usage =
    "test_sim --store redis|sql|memory|zookeeper [--seeds N] [--from S] [--mutant NAME] [--control] "
    "[--twice]\n"
    "         [--replicas N] [--only failover] [--hostile-lines]\n"
    "test_sim --store redis|sql|memory|zookeeper --seed S [--trace] [--mutant NAME]\n"
    "\n"
    "  --mutant NAME   fails unless a world shows it; ends at the first that does\n"
    "  --hostile-lines some servers carry out late what is left of former connections; on some, WAIT waits "
    "for\n"
    "                  the connection's own last write alone\n"
    "  --control       nothing but failovers, which break the store's conditions: fails unless clients "
    "overlap\n";

struct arguments {
  std::string store = "redis";
  std::uint64_t from = 1;
  std::uint64_t seeds = 100;
  std::string mutant_name;
  mutant with = mutant::none;
  bool trace = false;
  bool control = false;
  bool twice = false;
  bool hostile_lines = false;
  bool only_failovers = false;
  unsigned replicas = 0;
};

std::uint64_t number(std::string_view text) {
  std::uint64_t n = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (problem != std::errc{} || end != text.data() + text.size()) {
    throw std::invalid_argument{"not a number: " + std::string{text}};
  }
  return n;
}

arguments read(int argc, char** argv) {
  arguments a;
  const std::vector<std::string_view> words{argv + 1, argv + argc};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto value = [&] {
      if (i + 1 == words.size())
        throw std::invalid_argument{"a value is missing after " + std::string{words[i]}};
      return words[++i];
    };
    if (words[i] == "--store") {
      a.store = value();
    } else if (words[i] == "--seeds") {
      a.seeds = number(value());
    } else if (words[i] == "--from") {
      a.from = number(value());
    } else if (words[i] == "--seed") {
      a.from = number(value());
      a.seeds = 1;
    } else if (words[i] == "--mutant") {
      a.mutant_name = value();
      const auto which = mutant_named(a.mutant_name);
      if (!which) throw std::invalid_argument{"no such mutant: " + a.mutant_name};
      a.with = *which;
    } else if (words[i] == "--replicas") {
      a.replicas = static_cast<unsigned>(number(value()));
    } else if (words[i] == "--only") {
      if (value() != "failover") throw std::invalid_argument{"nothing but failovers can be alone"};
      a.only_failovers = true;
    } else if (words[i] == "--trace") {
      a.trace = true;
    } else if (words[i] == "--control") {
      a.control = true;
    } else if (words[i] == "--twice") {
      a.twice = true;
    } else if (words[i] == "--hostile-lines") {
      a.hostile_lines = true;
    } else {
      throw std::invalid_argument{"unknown: " + std::string{words[i]}};
    }
  }
  return a;
}

std::unique_ptr<simulated_store> redis_of(const arguments& a) {
  auto store = std::make_unique<redis_store>(a.with);
  if (a.control || a.replicas != 0) store->demand_replicas(a.replicas);
  return store;
}

std::unique_ptr<simulated_store> store_of(const arguments& a) {
  if (a.store == "sql") return std::make_unique<sql_store>(a.with);
  if (a.store == "memory") return std::make_unique<memory_store>();
  if (a.store == "redis") return redis_of(a);
  throw std::invalid_argument{"no such store: " + a.store};
}

std::string replay(const arguments& a, std::uint64_t seed) {
  return "test_sim --store " + a.store + " --seed " + std::to_string(seed) + " --trace" +
         (a.with == mutant::none ? "" : " --mutant " + a.mutant_name) + (a.control ? " --control" : "") +
         (a.hostile_lines ? " --hostile-lines" : "") + (a.only_failovers ? " --only failover" : "") +
         (a.replicas == 0 ? "" : " --replicas " + std::to_string(a.replicas));
}

/// One in a hundred is run twice, on the same store, which has forgotten everything in between.
bool is_run_twice(std::uint64_t seed) { return seed % 100 == 0; }

struct totals {
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

  void add(const outcome& o) {
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
  }
};

int run_all(const arguments& a) {
  const bool on_ensemble = a.store == "zookeeper";
  const auto store = on_ensemble ? nullptr : store_of(a);
  if (store && a.hostile_lines) store->has_hostile_lines = true;
  circumstances under;
  under.with = a.with;
  under.prints = a.trace;
  if (a.control || a.only_failovers) under.only = {chaos::fault::failover};
  const auto live = [&](std::uint64_t seed) {
    return on_ensemble ? run_on_ensemble(seed, under) : run(*store, seed, under);
  };
  totals all;
  const std::clock_t start = std::clock();
  for (std::uint64_t seed = a.from; seed < a.from + a.seeds; ++seed) {
    const outcome o = live(seed);
    all.add(o);
    if (!o.violation.empty()) {
      std::printf("seed %llu: %s\n  %s\n", static_cast<unsigned long long>(seed), o.violation.c_str(),
                  replay(a, seed).c_str());
      if (a.with == mutant::none) return 1;
      std::printf("%s: caught after %llu seeds\n", a.mutant_name.c_str(),
                  static_cast<unsigned long long>(seed - a.from + 1));
      return 0;
    }
    if ((a.twice || is_run_twice(seed)) && live(seed).hash != o.hash) {
      std::printf("seed %llu: another run of it went another way\n", static_cast<unsigned long long>(seed));
      return 1;
    }
  }
  const double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  const auto each = [&](std::uint64_t n) { return static_cast<double>(n) / static_cast<double>(a.seeds); };
  std::printf(
      "%llu seeds in %.1f s of a core, %.0f a second; each %.0f operations, %.0f requests, %.0f grants, %.0f "
      "events; "
      "%llu overlaps while conditions were broken, %llu stale writes refused; %llu holds of foreign clients, "
      "%llu "
      "followed by a waiter in time; %llu names forgotten; %llu errors "
      "answered\n",
      static_cast<unsigned long long>(a.seeds), took, static_cast<double>(a.seeds) / took,
      each(all.operations), each(all.requests), each(all.grants), each(all.events),
      static_cast<unsigned long long>(all.overlaps), static_cast<unsigned long long>(all.stale_refused),
      static_cast<unsigned long long>(all.foreign_holds),
      static_cast<unsigned long long>(all.foreign_followed), static_cast<unsigned long long>(all.forgotten),
      static_cast<unsigned long long>(all.refusals));
  if (a.with != mutant::none) {
    std::printf("%s: survived\n", a.mutant_name.c_str());
    return 1;
  }
  if (a.control && all.overlaps == 0) {
    std::printf("failovers made nobody overlap: this simulator sees nothing\n");
    return 1;
  }
  return 0;
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
    return run_all(read(argc, argv));
  } catch (const std::invalid_argument& e) {
    std::fprintf(stderr, "%s\n%s", e.what(), usage);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
  }
  return 2;
}
