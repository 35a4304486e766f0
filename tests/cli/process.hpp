// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "support/scratch_folder.hpp"

namespace holdfast::test {

/// How long anything may take before a test gives up: long, for busy machines and sanitizers, because it
/// is only ever waited for in full by a test that fails.
inline constexpr std::chrono::seconds wait_limit{60};

/// Looks until it is so. \return false when wait_limit ran out.
[[nodiscard]] bool eventually(const std::function<bool()>& is_so);

void write_file(const std::string& path, std::string_view text);

/// The state letter of /proc/PID/stat; empty where there is no such process.
[[nodiscard]] std::optional<char> state_of(pid_t pid);
/// Gone, or a zombie.
[[nodiscard]] bool is_dead(pid_t pid);

struct result {
  int status = 0;  ///< as a shell has it
  std::string out;
  std::string err;
};

/// A named pipe that this process has open for writing. What reads a line of it ends with this process at the
/// latest, even if this process is killed: a command in the background, that nobody else would end.
class lifeline {
 public:
  explicit lifeline(const std::string& path);
  ~lifeline();
  lifeline(const lifeline&) = delete;
  lifeline& operator=(const lifeline&) = delete;

  /// Ends one reader.
  void end_reader() const;

 private:
  int fd_;
};

/// A running program; its output goes to files. Killed, if need be, and reaped at the end, or killed with the
/// thread that has started it.
class process {
 public:
  struct settings {
    std::vector<std::string> environment;  ///< NAME=value, added or replaced
    std::string input = {};                ///< a file; empty: /dev/null
    std::string output = {};               ///< likewise; empty: one of its own, which out() reads
    std::string errors = {};               ///< likewise; empty: one of its own, which err() reads
  };

  process(const scratch_folder& scratch, std::vector<std::string> arguments, const settings& options);
  ~process();
  process(const process&) = delete;
  process& operator=(const process&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const;
  [[nodiscard]] std::string out() const { return contents(out_); }
  [[nodiscard]] std::string err() const { return contents(err_); }
  /// Waits for its end; a status of -1 when wait_limit ran out.
  result wait();
  [[nodiscard]] bool running();

 private:
  std::string out_;
  std::string err_;
  pid_t pid_ = -1;
  int status_ = -1;
};

/// Our environment, with these replaced or added, and without HOLDFAST_* from outside.
[[nodiscard]] std::vector<std::string> environment_with(const std::vector<std::string>& additions);

}  // namespace holdfast::test
