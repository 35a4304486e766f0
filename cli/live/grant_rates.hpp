// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>

#include <holdfast/boot_clock.hpp>
#include <holdfast/state.hpp>

namespace holdfast::cli {

/// How often names are granted, as far as repeated listings show it.
class grant_rates {
 public:
  /// Starts a listing. Names that are not observed until the next one are forgotten.
  void begin();
  /// \return the grants a second that were seen in the last ten seconds. Of two listings only that the token
  /// has changed is known, not how often.
  [[nodiscard]] double observe(const lock_summary& lock, boot_clock::time_point when);

 private:
  struct past {
    fencing_token last;
    std::deque<boot_clock::time_point> grants;
  };
  using table = std::map<std::string, past, std::less<>>;
  table former_;
  table current_;
};

}  // namespace holdfast::cli
