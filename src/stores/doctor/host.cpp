// SPDX-License-Identifier: Apache-2.0
// What is concluded from this host, whatever the store.

#include <filesystem>
#include <fstream>
#include <system_error>

#include "stores/doctor/examination.hpp"

namespace holdfast::doctor {

namespace {

constexpr const char* source_file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

constexpr std::string_view meaning =
    "a client on this host that was paused for longer than its drift margin, and goes on, takes its leases "
    "for held until their next renewal, while others hold the locks";
constexpr std::string_view remedy =
    "pause no client's machine for longer than that; or, where it is available, tsc: echo tsc > {file}, and "
    "clocksource=tsc on the kernel's command line";
constexpr std::string_view stands_still =
    "the clock source is {source}, which stands still while this virtual machine is paused";

/// Whether the lease clock of this host counts the time for which a virtual machine is paused from outside:
/// see docs/stores/common.md. The hypervisor saves the clocks kvm-clock and xen with the machine, and
/// restores them with it.
constexpr condition clock_table[]{
    {"vm clock", grade::kept, "virtual=no", "this host is no virtual machine"},
    {"vm clock", grade::kept, "source=tsc",
     "the clock source is tsc, which counts the pauses of a virtual machine"},
    {"vm clock", grade::warning, "source=kvm-clock", stands_still, meaning, remedy},
    {"vm clock", grade::warning, "source=xen", stands_still, meaning, remedy},
    {"vm clock", grade::unknown, "source",
     "the clock source is {source}; whether it counts the pauses of a virtual machine is not known", meaning,
     remedy},
    {"vm clock", grade::unknown, "", "the clock source cannot be read from {file}", meaning, remedy},
};

/// PostgreSQL's library checks its own keys.
constexpr condition key_table[]{
    {"key", grade::kept, "open=no", "not everybody may read the key {path}"},
    {"key", grade::warning, "open=yes", "every user of this host may read the key {path}",
     "whoever reads it may log in with it, as this client", "chmod o= {'path'}"},
};

}  // namespace

facts host_clock() {
  facts found{"this host"};
  found.set("file", source_file);
  if (std::string name; std::getline(std::ifstream{source_file}, name)) found.set("source", name);
  std::ifstream processors{"/proc/cpuinfo"};  // x86 tells by a flag
  for (std::string line; std::getline(processors, line);) {
    if (line.starts_with("flags"))
      found.set_flag("virtual", (line + ' ').find(" hypervisor ") != std::string::npos);
  }
  return found;
}

void examine_host_clock(const facts& of, std::vector<finding>& to) { examine(clock_table, of, to); }

void examine_key(const std::string& key, std::vector<finding>& to) {
  namespace fs = std::filesystem;
  std::error_code problem;
  const auto rights = fs::status(key, problem).permissions();
  if (key.empty() || problem) return;
  facts found{"this host"};
  found.set("path", key);
  found.set_flag("open", (rights & fs::perms::others_read) != fs::perms::none);
  examine(key_table, found, to);
}

}  // namespace holdfast::doctor
