// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "run/hold.hpp"

namespace holdfast::cli {

/// Pointers into strings, ended by a null, as execve takes them. The strings must outlive it.
class pointer_list {
 public:
  explicit pointer_list(std::vector<std::string>& strings);
  [[nodiscard]] char* const* get() const noexcept { return pointers_.data(); }

 private:
  std::vector<char*> pointers_;
};

/// An executable command line. It is looked up before the lock is acquired: a mistyped command must not wait
/// for a lock, or keep others waiting.
class program {
 public:
  /// \throws failure 127 where there is no such command, 126 where it cannot be executed.
  explicit program(std::vector<std::string> arguments);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Its name on the command line, without folders.
  [[nodiscard]] std::string name() const;
  /// `holdfast run (backup)`: what others see beside the process id, which is that of this process. Fit for
  /// client_options::program, whatever bytes the file's name has.
  /// \param subcommand of this process.
  [[nodiscard]] std::string title(std::string_view subcommand) const;
  [[nodiscard]] const std::vector<std::string>& arguments() const noexcept { return arguments_; }

 private:
  std::vector<std::string> arguments_;
  std::string path_;
};

/// This process's environment with HOLDFAST_TOKEN and HOLDFAST_NAME, of further names HOLDFAST_TOKEN_2,
/// HOLDFAST_NAME_2 and so on, HOLDFAST_JOB (see claimant::job), and without secrets:
/// HOLDFAST_PASSWORD is removed, and a password in HOLDFAST_STORE is masked. (Without that variable, a nested
/// `holdfast run` would silently lock in another store.)
[[nodiscard]] std::vector<std::string> environment_for(const hold& held);

}  // namespace holdfast::cli
