// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "support/loopback_server.hpp"

namespace holdfast::test {

/// A server that greets a client as a node of a Redis Cluster does, and answers each other command with what
/// a function says.
class fake_redis {
 public:
  /// \param command its words. \return the reply, as bytes. Called on the server's thread.
  using answer = std::function<std::string(const std::vector<std::string>& command)>;

  fake_redis() : server_{[this](int socket) { return serve(socket); }} {}

  [[nodiscard]] std::uint16_t port() const noexcept { return server_.port(); }
  /// From now on. Until the first call it answers nothing but greetings.
  void answer_with(answer next);

 private:
  bool serve(int socket);
  std::string reply_to(const std::vector<std::string>& command);

  std::mutex mutex_;
  answer answer_;
  std::map<int, std::string> received_;  // of each connection, and not a whole command yet
  loopback_server server_;               // ends first
};

}  // namespace holdfast::test
