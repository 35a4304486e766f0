#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <holdfast/fencing_token.hpp>

namespace holdfast::cli {

/// Pointers into strings, ended by a null, as execve takes them. The strings must outlive it.
class pointer_list {
 public:
  explicit pointer_list(std::vector<std::string>& strings);
  [[nodiscard]] char* const* get() const noexcept { return pointers_.data(); }

 private:
  std::vector<char*> pointers_;
};

/// A command line that is known to be executable. Looked up before anything is locked: a mistyped
/// command should neither wait for its turn nor keep others from theirs.
class program {
 public:
  /// \throws failure 127 where there is no such command, 126 where it cannot be executed.
  explicit program(std::vector<std::string> arguments);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// What it was called as, without folders.
  [[nodiscard]] std::string name() const;
  [[nodiscard]] const std::vector<std::string>& arguments() const noexcept { return arguments_; }

 private:
  std::vector<std::string> arguments_;
  std::string path_;
};

/// Our environment with HOLDFAST_TOKEN and HOLDFAST_NAME, and without secrets: HOLDFAST_PASSWORD is taken
/// out, and a password within HOLDFAST_STORE is masked. (Leaving that variable out would be worse: a
/// nested `holdfast run` would then quietly lock in another store.)
[[nodiscard]] std::vector<std::string> environment_for(fencing_token token, std::string_view name);

}  // namespace holdfast::cli
