// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "support/server_user.hpp"

namespace holdfast::test {

/// A program that runs beside the test. It ends with this object, and with the thread that started it, so
/// that a test that crashes or is killed leaves nothing running.
class child_process {
 public:
  struct settings {
    std::vector<std::string> environment{};  ///< NAME=value, added to this process's own or in place of it
    std::string folder{};                    ///< where it runs; empty: here
    std::string output{};                    ///< the file that takes what it says; empty: nowhere
    std::optional<server_user> user{};       ///< whom it runs as; nothing: as we do
  };

  /// Found as a shell would find it. \throws std::system_error if it cannot be started.
  child_process(std::vector<std::string> arguments, settings options);
  /// Kills it, if it is still there.
  ~child_process();
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;

  [[nodiscard]] ::pid_t pid() const noexcept { return pid_; }
  void send(int signal) const;
  /// SIGSTOP, and waits until it stands still.
  void stop();
  void go_on();
  /// SIGKILL, and waits until it is gone.
  void kill();
  /// Waits for its end. \return as a shell has it; nothing when it has not come within `limit`.
  std::optional<int> wait(std::chrono::milliseconds limit);
  [[nodiscard]] bool running() { return !wait(std::chrono::milliseconds{0}); }

 private:
  void reap(int options);

  ::pid_t pid_ = -1;
  int gone_ = -1;  // readable when it has ended
  std::optional<int> status_;
};

}  // namespace holdfast::test
