// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <string>
#include <system_error>

#include "holdfast/error.hpp"

namespace holdfast {

/// An error that is passed through the layers. Each layer may add to the message; the outermost throws it or
/// completes with it. It contains no secret.
struct failure {
  std::error_code code;
  std::string message;
};

/// The code of a call of the system that has failed. \param system_error its errno.
[[nodiscard]] inline errc code_of(int system_error) {
  switch (system_error) {
    case EACCES:
    case EPERM:
    case EROFS: return errc::permission_denied;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EDQUOT:
    case ENOSPC: return errc::exhausted;
    default: return errc::unavailable;
  }
}

}  // namespace holdfast
