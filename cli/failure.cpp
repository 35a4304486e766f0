// SPDX-License-Identifier: Apache-2.0
#include "failure.hpp"

#include <cerrno>
#include <cstdio>
#include <fmt/format.h>

#include "output/json.hpp"
#include "output/terminal.hpp"
#include "output/text.hpp"

namespace holdfast::cli {

exit_status status_of(std::error_code code) noexcept {
  if (code.category() != category()) return internal_error;
  switch (static_cast<errc>(code.value())) {
    case errc::timeout: return timed_out;
    case errc::lost:
    case errc::not_owner: return lease_lost;
    case errc::invalid_name:
    case errc::invalid_argument:
    case errc::invalid_url:
    case errc::wrong_type: return bad_usage;
    case errc::permission_denied: return permission_denied;
    case errc::unavailable:
    case errc::unknown_outcome:
    case errc::foreign_store:
    case errc::corrupt_store:
    case errc::exhausted: return store_unavailable;
    case errc::cancelled:
    case errc::closed: return internal_error;
  }
  return internal_error;
}

failure to_failure(const std::system_error& cause) {
  // The library's message is complete; the text of the code would repeat it.
  if (const auto* library_error = dynamic_cast<const error*>(&cause);
      library_error && !library_error->detail().empty()) {
    return {status_of(cause.code()), library_error->detail()};
  }
  if (cause.code().category() != category() && std::ferror(stdout) != 0) {
    return {output_failed, fmt::format("cannot write the output: {}", cause.code().message())};
  }
  if (cause.code() == std::errc::too_many_files_open)
    return {internal_error, fmt::format("{}; raise the limit (ulimit -n)", cause.what())};
  return {status_of(cause.code()), cause.what()};
}

void report(const failure& problem, bool as_json) {
  // The message may quote a command line that contains a URL.
  const auto message = without_secrets(problem.what());
  if (as_json) {
    print_line(json{{"error", message}, {"status", static_cast<int>(problem.status())}}, stderr);
  } else {
    complain(fmt::format("holdfast: {}\n", printable(message)));
  }
}

int checked(int result, const char* call) {
  if (result < 0) throw std::system_error{errno, std::generic_category(), call};
  return result;
}

}  // namespace holdfast::cli
