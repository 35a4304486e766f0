// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace holdfast::cli {

/// What a request has to know to change something.
class release_secret {
 public:
  /// None: nothing matches.
  release_secret() = default;
  /// Reads the first line of a file that its owner alone may read, and that is no symbolic link, behind which
  /// another file could be put. A file directly in $CREDENTIALS_DIRECTORY, which systemd makes for one
  /// service, may be readable by its group.
  /// \throws failure: bad_usage, or permission_denied.
  explicit release_secret(const std::string& path);

  [[nodiscard]] explicit operator bool() const noexcept { return !text_.empty(); }
  /// Takes as long for a wrong one as for a right one of that length.
  [[nodiscard]] bool matches(std::string_view given) const noexcept;

  static constexpr std::size_t shortest = 32;  ///< characters
  static constexpr std::size_t longest = 1024;

 private:
  std::string text_;
};

}  // namespace holdfast::cli
