// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

#include "exit_status.hpp"
#include <holdfast/error.hpp>

namespace holdfast::cli {

/// Ends the command: a message for people (what happened, where, what to do) and the exit status.
class failure : public std::runtime_error {
 public:
  failure(exit_status status, const std::string& message) : std::runtime_error{message}, status_{status} {}
  [[nodiscard]] exit_status status() const noexcept { return status_; }

 private:
  exit_status status_;
};

/// Makes a failure of an error of the library or the system.
[[nodiscard]] failure to_failure(const std::system_error& cause);

/// Writes it to standard error: as one line, in which whatever it quotes is printable, or as one JSON object.
void report(const failure& problem, bool as_json);

/// Throws unless a system call succeeded; returns its result.
int checked(int result, const char* call);

}  // namespace holdfast::cli
