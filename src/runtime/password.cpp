// SPDX-License-Identifier: Apache-2.0
#include "runtime/password.hpp"

#include <exception>

#include "runtime/io_deadline.hpp"

namespace holdfast::runtime {

std::string password::current() const {
  if (!source_) return fixed_;
  try {
    return source_();
  } catch (const std::exception& problem) {
    throw connection_error{{errc::unavailable, std::string{"no password for the login: "} + problem.what()}};
  } catch (...) {
    throw connection_error{{errc::unavailable, "no password for the login: its function threw"}};
  }
}

}  // namespace holdfast::runtime
