#pragma once

#include <string>

#include "core/machine.hpp"

namespace holdfast::redis {

/// The request_error of a server's error reply.
/// \param error begins with its code, as in "LOADING Redis is loading ...".
[[nodiscard]] store::request_error request_error_of(const std::string& error);

}  // namespace holdfast::redis
