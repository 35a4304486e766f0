#include "stores/vm_clock.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>
#include <utility>

namespace holdfast::stores {

namespace {

using grade = finding::grade;

constexpr const char* source_file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
/// The hypervisor saves these with the machine, and restores them with it.
constexpr std::array<std::string_view, 2> restored{"kvm-clock", "xen"};

/// x86 tells by a flag of its processors.
std::optional<bool> is_virtual_host() {
  std::ifstream file{"/proc/cpuinfo"};
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("flags")) return (line + ' ').find(" hypervisor ") != std::string::npos;
  }
  return std::nullopt;
}

}  // namespace

clock_facts read_clock_facts() {
  clock_facts found;
  std::ifstream file{source_file};
  if (std::string name; std::getline(file, name) && !name.empty()) found.source = std::move(name);
  found.is_virtual_host = is_virtual_host();
  return found;
}

finding vm_clock_finding(const clock_facts& of) {
  finding found{"this host", "vm clock", grade::kept, {}, {}, {}};
  if (of.is_virtual_host == false) {
    found.observed = "this host is no virtual machine";
    return found;
  }
  if (of.source == "tsc") {
    found.observed = "the clock source is tsc, which counts the pauses of a virtual machine";
    return found;
  }
  const bool is_restored = of.source && std::ranges::find(restored, *of.source) != restored.end();
  found.result = is_restored ? grade::warning : grade::unknown;
  if (is_restored) {
    found.observed =
        "the clock source is " + *of.source + ", which stands still while this virtual machine is paused";
  } else if (of.source) {
    found.observed = "the clock source is " + *of.source +
                     "; whether it counts the pauses of a virtual machine is not known";
  } else {
    found.observed = std::string{"the clock source cannot be read from "} + source_file;
  }
  found.meaning =
      "a client on this host that was paused for longer than its drift margin, and goes on, takes its leases "
      "for held until their next renewal, while others hold the locks";
  found.remedy =
      std::string{
          "pause no client's machine for longer than that; or, where it is available, tsc: echo tsc > "} +
      source_file + ", and clocksource=tsc on the kernel's command line";
  return found;
}

}  // namespace holdfast::stores
