// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stores/redis/protocol/resp.hpp"

namespace holdfast::sim {

using strings = std::vector<std::string>;

/// A command as it is sent.
[[nodiscard]] std::string bytes_of(const strings& command);

/// One connection to a server's Unix socket, that blocks: replies as they are typed, pushes apart.
class wire {
 public:
  explicit wire(const std::string& socket_path);
  ~wire();
  wire(const wire&) = delete;
  wire& operator=(const wire&) = delete;

  redis::value ask(const strings& command);
  void say(std::string_view bytes);
  /// The next reply. \throws std::runtime_error where none comes.
  redis::value hear();

  /// What came out of turn since this was asked last; all that was published before.
  [[nodiscard]] std::vector<redis::value> take_pushes();

 private:
  int socket_;
  redis::parser parser_;
  std::vector<redis::value> pushes_;
};

}  // namespace holdfast::sim
