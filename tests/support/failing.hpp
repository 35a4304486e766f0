// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <system_error>

#include <holdfast/error.hpp>

namespace holdfast::test {

/// What a failing call says: its code, and its sentence for the test's own message.
struct failing {
  std::error_code code;
  std::string text;
};
/// Whether a call with a limit has heard nothing of the store, as on a machine that stalls.
[[nodiscard]] inline bool is_unanswered(const std::error_code& code) {
  return code == errc::unknown_outcome || code == errc::unavailable;
}
template <class Call>
failing failure_of(Call call) {
  try {
    static_cast<void>(call());
  } catch (const error& failed) {
    return {failed.code(), failed.what()};
  }
  return {{}, "it did not fail"};
}

}  // namespace holdfast::test
