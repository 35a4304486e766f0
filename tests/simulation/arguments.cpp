// SPDX-License-Identifier: Apache-2.0
#include "simulation/arguments.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace holdfast::sim {

const char* const usage =
    "test_sim --store redis|sql|memory|zookeeper|redlock [--seeds N] [--from S] [--mutant NAME,...]\n"
    "         [--control] [--twice] [--false-notifications] [--elections]\n"
    "         [--replicas N] [--guard] [--min-replicas] [--only "
    "failover|partition|memory|clocks]\n"
    "test_sim --store redlock --scenario NAME [--trace] [--mutant NAME,...]\n"
    "test_sim --store redis|sql|memory|zookeeper|redlock --seed S [--trace] [--mutant NAME]\n"
    "test_sim --collected FILE\n"
    "\n"
    "  --mutant NAME   fails unless a world shows it; ends at the first that does. Of several names each is\n"
    "                  searched for by itself\n"
    "  --collected FILE the worlds of a file of seeds, such as tests/simulation/seeds/redis\n"
    "  --guard         every server of Redis has a failover guard, and none waits for replicas\n"
    "  --min-replicas  every former primary of Redis takes no writes after a while, and the guard is longer "
    "by "
    "that\n"
    "  --only KIND     no other faults; partition: former primaries go on, with failovers and paused "
    "clients;\n"
    "                  memory and clocks: of servers of redlock, which forget, or whose clocks are set\n"
    "  --scenario NAME one that is known by name: see quorum/quorum_scenarios.cpp\n"
    "  --elections     an election in every world\n"
    "  --false-notifications somebody sends them, in a third of the worlds\n"
    "  --control       nothing but failovers, or --only, which then break the store's conditions: fails "
    "unless "
    "clients "
    "overlap\n";

namespace {

std::uint64_t number(std::string_view text) {
  std::uint64_t n = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (problem != std::errc{} || end != text.data() + text.size()) {
    throw std::invalid_argument{"not a number: " + std::string{text}};
  }
  return n;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(at), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::vector<named_mutant> mutants_named(std::string_view names) {
  std::vector<named_mutant> all;
  for (const std::string_view name : split(names, ',')) {
    std::string wanted{name};
    std::ranges::replace(wanted, '-', '_');
    const auto known = std::ranges::find(mutants, wanted, &named_mutant::name);
    if (known == mutants.end()) throw std::invalid_argument{"no such mutant: " + wanted};
    all.push_back({name, known->which});
  }
  return all;
}

bool is_commit(std::string_view text) {
  return text.size() >= 7 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

arguments read_line(std::string_view line) {
  const std::size_t end = line.find('#');
  if (end == std::string_view::npos) throw std::invalid_argument{"the commit is missing"};
  const auto words = split(line.substr(end + 1), ' ');
  if (words.size() < 2 || !is_commit(words.front())) throw std::invalid_argument{"expected '# COMMIT words'"};
  arguments a = read(split(line.substr(0, end), ' '));
  const bool is_one_world = a.seeds == 1 && a.mutants.empty() && a.collected.empty();
  if (!is_one_world || a.control || a.trace || !a.scenario.empty())
    throw std::invalid_argument{"expected the arguments of one world, with --seed"};
  return a;
}

}  // namespace

std::vector<arguments> read_collected(const std::string& file) {
  std::ifstream in{file};
  if (!in) throw std::invalid_argument{"cannot read " + file};
  std::vector<arguments> all;
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    try {
      all.push_back(read_line(line));
    } catch (const std::invalid_argument& e) {
      throw std::invalid_argument{file + ", line " + std::to_string(number) + ": " + e.what()};
    }
  }
  if (all.empty()) throw std::invalid_argument{file + " has no seeds"};
  return all;
}

arguments read(const std::vector<std::string_view>& words) {
  arguments a;
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
      a.mutants = mutants_named(value());
    } else if (words[i] == "--collected") {
      a.collected = value();
    } else if (words[i] == "--replicas") {
      a.replicas = static_cast<unsigned>(number(value()));
    } else if (words[i] == "--only") {
      a.only = value();
    } else if (words[i] == "--scenario") {
      a.scenario = value();
    } else if (words[i] == "--guard") {
      a.guard = true;
    } else if (words[i] == "--min-replicas") {
      a.min_replicas = true;
    } else if (words[i] == "--trace") {
      a.trace = true;
    } else if (words[i] == "--control") {
      a.control = true;
    } else if (words[i] == "--twice") {
      a.twice = true;
    } else if (words[i] == "--elections") {
      a.elections = true;
    } else if (words[i] == "--false-notifications") {
      a.false_notifications = true;
    } else {
      throw std::invalid_argument{"unknown: " + std::string{words[i]}};
    }
  }
  const bool is_of_several = a.only == "memory" || a.only == "clocks";
  if (!a.only.empty() && !is_of_several && a.only != "failover" && a.only != "partition") {
    throw std::invalid_argument{"nothing but failovers, partitions, memory and clocks can be alone"};
  }
  if (is_of_several && a.store != "redlock")
    throw std::invalid_argument{"--only " + a.only + " is of redlock"};
  if (!a.scenario.empty()) a.seeds = 1;
  return a;
}

}  // namespace holdfast::sim
