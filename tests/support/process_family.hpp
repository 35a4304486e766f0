// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <sys/types.h>
#include <vector>

namespace holdfast::test {

/// A server and the processes that it has started: all that run in its folder, whoever their parent is by
/// now.
class process_family {
 public:
  explicit process_family(const std::filesystem::path& folder);

  [[nodiscard]] std::vector<::pid_t> members() const;
  /// SIGSTOP, and waits until all stand still. \throws std::runtime_error if they do not.
  void stop() const;
  void go_on() const;
  /// SIGKILL, without that one sees another die, and waits until all are gone. \throws the same.
  void kill() const;

 private:
  void send(int signal) const;
  [[nodiscard]] bool stands_still() const;

  std::filesystem::path folder_;
};

}  // namespace holdfast::test
