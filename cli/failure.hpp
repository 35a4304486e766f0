#pragma once

#include <stdexcept>
#include <string>

#include "exit_status.hpp"
#include <holdfast/error.hpp>

namespace holdfast::cli {

/// Ends the command: a sentence for people (what, where, what to do) and the exit status.
class failure : public std::runtime_error {
 public:
  failure(exit_status status, const std::string& message) : std::runtime_error{message}, status_{status} {}
  [[nodiscard]] exit_status status() const noexcept { return status_; }

 private:
  exit_status status_;
};

/// Of what the library or the system reported.
[[nodiscard]] failure to_failure(const std::system_error& cause);

/// Says it on standard error: as a sentence, or as one JSON object.
void report(const failure& problem, bool as_json);

/// Throws unless a system call succeeded; hands through what it returned.
int checked(int result, const char* call);

}  // namespace holdfast::cli
