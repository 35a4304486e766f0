#pragma once

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

}  // namespace holdfast
