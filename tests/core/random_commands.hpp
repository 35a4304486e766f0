// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ostream>
#include <rapidcheck.h>
#include <vector>

#include "core/model_comparison.hpp"

namespace holdfast::test {

enum class act : std::uint8_t {
  acquire,
  acquire_all,
  ask_again,
  look,
  renew,
  renew_all,
  release,
  release_all,
  withdraw,
  find,
  downgrade,
  annotate,
  request_release,
  steal,
  force_release,
  list,
  pass,
  step_wall,
  forget
};
/// One command, in numbers that shrink well.
struct command {
  act action{};
  std::uint8_t slot = 0;
  std::uint8_t name = 0;
  std::uint8_t kind = 0;  // of the claim, or of the time that passes
  bool wait = false;
};
std::ostream& operator<<(std::ostream& to, const command& c);

/// What makes queues and their ends comes more often than the rest.
[[nodiscard]] rc::Gen<command> any_command();

/// Several clients with one claim each, at both stores, with two names of their own: after every command the
/// replies, notifications and states are the same, and what must be true of them is. Fails as rapidcheck's
/// properties do.
/// \param number of the sequence: those before have left dead claims behind, of other names.
void compare_replies(const std::vector<command>& commands, model_comparison& stores, int number);

}  // namespace holdfast::test
