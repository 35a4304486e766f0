#include "simulation/arguments.hpp"

#include <charconv>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace holdfast::sim {

const char* const usage =
    "test_sim --store redis|sql|memory|zookeeper|redlock [--seeds N] [--from S] [--jobs N] [--mutant NAME]\n"
    "         [--control] [--twice] [--hostile-lines] [--false-notifications] [--elections]\n"
    "         [--rendezvous] [--replicas N] [--guard] [--min-replicas] [--only "
    "failover|partition|memory|clocks]\n"
    "test_sim --store redlock --scenario NAME [--trace] [--mutant NAME]\n"
    "test_sim --store redis|sql|memory|zookeeper|redlock --seed S [--trace] [--mutant NAME]\n"
    "\n"
    "  --jobs N        in N processes; goes on after a violation, and says every 10 s how far it is\n"
    "  --mutant NAME   fails unless a world shows it; ends at the first that does\n"
    "  --hostile-lines some servers carry out late what is left of former connections; on some, WAIT waits "
    "for\n"
    "                  the connection's own last write alone\n"
    "  --guard         every server of Redis has a failover guard, and none waits for replicas\n"
    "  --min-replicas  every former primary of Redis takes no writes after a while, and the guard is longer "
    "by "
    "that\n"
    "  --only KIND     no other faults; partition: former primaries go on, with failovers and paused "
    "clients;\n"
    "                  memory and clocks: of servers of redlock, which forget, or whose clocks are set\n"
    "  --scenario NAME one that is known by name: see quorum/quorum_scenarios.cpp\n"
    "  --elections     an election in every world\n"
    "  --rendezvous    a latch and a barrier in every world; not of redlock\n"
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

}  // namespace

arguments read(int argc, char** argv) {
  arguments a;
  const std::vector<std::string_view> arguments{argv + 1, argv + argc};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto value = [&] {
      if (i + 1 == arguments.size())
        throw std::invalid_argument{"a value is missing after " + std::string{arguments[i]}};
      return arguments[++i];
    };
    if (arguments[i] == "--store") {
      a.store = value();
    } else if (arguments[i] == "--seeds") {
      a.seeds = number(value());
    } else if (arguments[i] == "--from") {
      a.from = number(value());
    } else if (arguments[i] == "--jobs") {
      a.jobs = number(value());
    } else if (arguments[i] == "--seed") {
      a.from = number(value());
      a.seeds = 1;
    } else if (arguments[i] == "--mutant") {
      a.mutant_name = value();
      const auto known = mutant_named(a.mutant_name);
      if (!known) throw std::invalid_argument{"no such mutant: " + a.mutant_name};
      a.with = *known;
    } else if (arguments[i] == "--replicas") {
      a.replicas = static_cast<unsigned>(number(value()));
    } else if (arguments[i] == "--only") {
      a.only = value();
    } else if (arguments[i] == "--scenario") {
      a.scenario = value();
    } else if (arguments[i] == "--guard") {
      a.guard = true;
    } else if (arguments[i] == "--min-replicas") {
      a.min_replicas = true;
    } else if (arguments[i] == "--trace") {
      a.trace = true;
    } else if (arguments[i] == "--control") {
      a.control = true;
    } else if (arguments[i] == "--twice") {
      a.twice = true;
    } else if (arguments[i] == "--hostile-lines") {
      a.hostile_lines = true;
    } else if (arguments[i] == "--elections") {
      a.elections = true;
    } else if (arguments[i] == "--rendezvous") {
      a.rendezvous = true;
    } else if (arguments[i] == "--false-notifications") {
      a.false_notifications = true;
    } else {
      throw std::invalid_argument{"unknown: " + std::string{arguments[i]}};
    }
  }
  const bool is_of_several = a.only == "memory" || a.only == "clocks";
  if (!a.only.empty() && !is_of_several && a.only != "failover" && a.only != "partition") {
    throw std::invalid_argument{"nothing but failovers, partitions, memory and clocks can be alone"};
  }
  if (is_of_several && a.store != "redlock")
    throw std::invalid_argument{"--only " + a.only + " is of redlock"};
  if (a.rendezvous && a.store == "redlock")
    throw std::invalid_argument{"latches and barriers do not work on redlock"};
  if (!a.scenario.empty()) a.seeds = 1;
  if (a.jobs != 0 && (a.with != mutant::none || a.control || a.trace)) {
    throw std::invalid_argument{"--jobs is for worlds without a mutant, control or trace"};
  }
  return a;
}

}  // namespace holdfast::sim
