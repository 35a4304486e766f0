// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "claim.hpp"
#include "exit_status.hpp"
#include "store.hpp"

namespace holdfast::cli {

/// `holdfast elect NAME -- CMD…`
struct elect_command {
  store_choice store;
  claim wish;         ///< its name, ttl and label
  std::string value;  ///< empty: the name of this host
  bool once = false;  ///< one term
  int lost_status = lease_lost;
  std::optional<int> request_signal;  ///< for a command whose release is asked for; empty: a message
  std::vector<std::string> command;
};

int perform(const elect_command& request);

}  // namespace holdfast::cli
