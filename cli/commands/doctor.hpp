#pragma once

#include <optional>

#include "exit_status.hpp"
#include "store.hpp"
#include <holdfast/diagnosis.hpp>

namespace holdfast::cli {

/// `holdfast doctor`
struct doctor_command {
  store_choice store;
  std::optional<duration> ttl;   ///< the longest in use; empty: the default of the library
  bool all = false;              ///< print what is kept, too
  bool accepts_unknown = false;  ///< what this user may not ask is no reason for an alarm
};

/// \param worst of all findings.
[[nodiscard]] exit_status status_of(finding::grade worst, bool accepts_unknown);

int perform(const doctor_command& request);

}  // namespace holdfast::cli
