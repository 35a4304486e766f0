// Runs worlds, and says how to see again what went wrong in one.

#include <charconv>
#include <cstdio>
#include <ctime>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sim/memory_store.hpp"
#include "sim/redis_store.hpp"
#include "sim/sql_store.hpp"
#include "sim/world.hpp"

namespace {

using namespace holdfast::sim;

constexpr const char* usage =
    "test_sim --store redis|sql|memory [--seeds N] [--from S] [--mutant NAME] [--control] [--twice]\n"
    "test_sim --store redis|sql|memory --seed S [--trace] [--mutant NAME]\n"
    "\n"
    "  --mutant NAME   fails unless a world shows it; ends at the first that does\n"
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
    } else if (words[i] == "--trace") {
      a.trace = true;
    } else if (words[i] == "--control") {
      a.control = true;
    } else if (words[i] == "--twice") {
      a.twice = true;
    } else {
      throw std::invalid_argument{"unknown: " + std::string{words[i]}};
    }
  }
  return a;
}

std::unique_ptr<simulated_store> store_of(const arguments& a) {
  if (a.store == "sql") return std::make_unique<sql_store>(a.with);
  if (a.store == "memory") return std::make_unique<memory_store>();
  if (a.store == "redis") return std::make_unique<redis_store>(a.with);
  throw std::invalid_argument{"no such store: " + a.store};
}

std::string replay(const arguments& a, std::uint64_t seed) {
  return "test_sim --store " + a.store + " --seed " + std::to_string(seed) + " --trace" +
         (a.with == mutant::none ? "" : " --mutant " + a.mutant_name) + (a.control ? " --control" : "");
}

/// One in a hundred is run twice, on the same store, which has forgotten everything in between.
bool is_run_twice(std::uint64_t seed) { return seed % 100 == 0; }

struct totals {
  std::uint64_t operations = 0;
  std::uint64_t requests = 0;
  std::uint64_t grants = 0;
  std::uint64_t overlaps = 0;
  std::uint64_t stale_refused = 0;
  std::uint64_t events = 0;

  void add(const outcome& o) {
    operations += o.operations;
    requests += o.requests;
    grants += o.grants;
    overlaps += o.excused_overlaps;
    stale_refused += o.stale_refused;
    events += o.events;
  }
};

int run_all(const arguments& a) {
  const auto store = store_of(a);
  circumstances under;
  under.with = a.with;
  under.prints = a.trace;
  if (a.control) under.only = {chaos::fault::failover};
  totals all;
  const std::clock_t start = std::clock();
  for (std::uint64_t seed = a.from; seed < a.from + a.seeds; ++seed) {
    const outcome o = run(*store, seed, under);
    all.add(o);
    if (!o.violation.empty()) {
      std::printf("seed %llu: %s\n  %s\n", static_cast<unsigned long long>(seed), o.violation.c_str(),
                  replay(a, seed).c_str());
      if (a.with == mutant::none) return 1;
      std::printf("%s: caught after %llu seeds\n", a.mutant_name.c_str(),
                  static_cast<unsigned long long>(seed - a.from + 1));
      return 0;
    }
    if ((a.twice || is_run_twice(seed)) && run(*store, seed, under).hash != o.hash) {
      std::printf("seed %llu: another run of it went another way\n", static_cast<unsigned long long>(seed));
      return 1;
    }
  }
  const double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  const auto each = [&](std::uint64_t n) { return static_cast<double>(n) / static_cast<double>(a.seeds); };
  std::printf(
      "%llu seeds in %.1f s of a core, %.0f a second; each %.0f operations, %.0f requests, %.0f grants, %.0f "
      "events; "
      "%llu overlaps while conditions were broken, %llu stale writes refused\n",
      static_cast<unsigned long long>(a.seeds), took, static_cast<double>(a.seeds) / took,
      each(all.operations), each(all.requests), each(all.grants), each(all.events),
      static_cast<unsigned long long>(all.overlaps), static_cast<unsigned long long>(all.stale_refused));
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

}  // namespace

int main(int argc, char** argv) {
  try {
    return run_all(read(argc, argv));
  } catch (const std::invalid_argument& e) {
    std::fprintf(stderr, "%s\n%s", e.what(), usage);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
  }
  return 2;
}
