// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "support/loopback_server.hpp"

namespace holdfast::test {

/// A server that says what it is told to, whatever it is asked: every connection gets the bytes as soon as it
/// has sent something, again for each time that it sends.
class canned_server : public loopback_server {
 public:
  enum class then { stay, close };

  explicit canned_server(std::string bytes, then afterwards = then::stay);
};

}  // namespace holdfast::test
