// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include <holdfast/error.hpp>
#include <holdfast/fencing_token.hpp>

namespace holdfast::test {

/// Another process that uses the library as it is told, for what one process cannot show: to be killed,
/// stopped, run as another user, or short of something. It is told by lines and answers by lines; the
/// commands stand in tests/actor/actor.cpp.
class actor {
 public:
  /// `environment` is added to this process's own, as NAME=VALUE.
  explicit actor(const std::vector<std::string>& environment = {});
  /// Another program that takes lines and answers them.
  actor(const std::vector<std::string>& command, const std::vector<std::string>& environment);
  /// Kills it, if it is still there.
  ~actor();
  actor(const actor&) = delete;
  actor& operator=(const actor&) = delete;

  /// Tells without waiting for the answer.
  void tell(std::string_view command);
  /// The next line that it says. Fails the test, and answers "", when it has said none within `limit`
  /// or is gone.
  std::string hear(std::chrono::milliseconds limit = std::chrono::seconds{60});
  std::string ask(std::string_view command, std::chrono::milliseconds limit = std::chrono::seconds{60}) {
    tell(command);
    return hear(limit);
  }
  /// "hold NAME …" and its answer: the token; zero, and the test fails, for any answer but "held TOKEN".
  fencing_token hold(std::string_view name_and_options);

  /// After SIGSTOP it stands still.
  void send(int signal);
  /// SIGKILL, and waits until it is gone.
  void kill();
  /// Closes its input, which ends it, and waits. \return its exit status, or -1 if a signal ended it.
  int finish();
  [[nodiscard]] ::pid_t pid() const noexcept { return pid_; }

 private:
  int reap();

  ::pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
  std::string heard_;
};

/// The token in "held TOKEN"; zero for anything else.
[[nodiscard]] fencing_token token_in(std::string_view answer);
/// The code in "failed CODE TEXT"; no error for anything else.
[[nodiscard]] std::error_code code_in(std::string_view answer);

}  // namespace holdfast::test
