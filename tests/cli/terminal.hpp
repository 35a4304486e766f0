// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace holdfast::test {

/// A program on a terminal of its own, as the leader of its session.
class terminal {
 public:
  terminal(std::vector<std::string> arguments, std::vector<std::string> environment);
  ~terminal();
  terminal(const terminal&) = delete;
  terminal& operator=(const terminal&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void type(std::string_view keys) const;
  /// As the user of a window does; 24 lines of 200 columns before.
  void resize(unsigned short lines, unsigned short columns) const;
  /// Waits until the screen has had this text since the last time; forgets what came before it.
  bool shows(std::string_view text);
  /// All that came and was not yet asked for.
  std::string rest();
  /// The process group in the foreground.
  [[nodiscard]] pid_t foreground() const;
  /// Waits for the end, reading all the while; the status as a shell has it, -1 when wait_limit ran out.
  int wait();

 private:
  void read_more();

  int screen_ = -1;
  pid_t pid_ = -1;
  std::string unread_;
};

}  // namespace holdfast::test
