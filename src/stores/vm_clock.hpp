#pragma once

#include <optional>
#include <string>

#include "holdfast/diagnosis.hpp"

namespace holdfast::stores {

/// The clock that this host's lease clock goes by.
struct clock_facts {
  std::optional<std::string> source;    // as Linux names it; empty: it cannot be read
  std::optional<bool> is_virtual_host;  // empty: it is not known
};

[[nodiscard]] clock_facts read_clock_facts();

/// Whether the lease clock of this host counts the time for which a virtual machine is paused from outside:
/// see docs/stores/common.md. For stores in servers, which go on meanwhile.
[[nodiscard]] finding vm_clock_finding(const clock_facts& of);

}  // namespace holdfast::stores
