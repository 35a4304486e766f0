// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "exit_status.hpp"
#include "store.hpp"
#include <holdfast/diagnosis.hpp>

namespace holdfast::cli {

/// `holdfast doctor`
struct doctor_command {
  store_choice store;
  std::string after;                ///< the URL of the store that was in use before; empty: none was
  std::string after_password_file;  ///< empty: its password, if any, is in that URL
  std::optional<duration> ttl;      ///< the longest in use; empty: the default of the library
  bool all = false;                 ///< print what is kept, too
  bool accepts_unknown = false;     ///< what this user may not ask is no reason for an alarm
};

/// \param worst of all findings.
[[nodiscard]] exit_status status_of(finding::grade worst, bool accepts_unknown);

int perform(const doctor_command& request);

}  // namespace holdfast::cli
