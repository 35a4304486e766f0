#pragma once

#include <string>
#include <system_error>

#include "holdfast/error.hpp"

namespace holdfast {

/// An error on its way through the layers: each may add to the sentence; the outermost throws or
/// completes with it. Never holds a secret.
struct failure {
  std::error_code code;
  std::string message;
};

}  // namespace holdfast
