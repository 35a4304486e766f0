// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "claim.hpp"
#include "exit_status.hpp"
#include "run/also.hpp"
#include "store.hpp"

namespace holdfast::cli {

/// `holdfast run NAME -- CMD…`
struct run_command {
  store_choice store;
  claim wish;
  std::optional<also_choice> also{};  ///< held, too, in the same way; taken first
  std::string also_password_file;     ///< of that store
  std::string also_file;              ///< locked, too, before all others
  bool quiet = false;                 ///< no message when the lock is not granted in time
  int conflict_status = timed_out;
  int lost_status = lease_lost;
  std::optional<int> request_signal;  ///< for a command whose release is asked for; empty: a message
  std::vector<std::string> command;
};

int perform(const run_command& request);

}  // namespace holdfast::cli
