// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <system_error>

#include "core/acquisition.hpp"
#include "core/journal.hpp"

namespace holdfast::runtime {

/// Tells the journal what happens to a claim before it is answered. Under the core lock.
class claim_reports {
 public:
  /// After each event of the claim: tells what is new.
  void update(const tickets::acquisition& claim, events::journal& to) noexcept;

 private:
  bool is_queued_ = false;
  std::error_code trouble_;  // the trouble that goes on; none
  bool was_paused_ = false;  // see acquisition::is_paused; of that
};

}  // namespace holdfast::runtime
