// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

/// The reason why `text` is not at most `longest` bytes of UTF-8 without control characters, as a clause that
/// names the offending byte; nothing where it is.
[[nodiscard]] std::optional<std::string> problem_of_text(std::string_view text, std::size_t longest);

/// The name of a lock: 1 to 512 bytes of UTF-8 without control characters (C0, DEL and C1). Compared byte
/// for byte everywhere; no normalization, no folding.
class lock_name {
 public:
  static constexpr std::size_t longest = 512;

  /// \throws holdfast::error errc::invalid_name.
  explicit lock_name(std::string_view text);

  [[nodiscard]] const std::string& str() const noexcept { return text_; }

  friend bool operator==(const lock_name&, const lock_name&) = default;

 private:
  std::string text_;
};

}  // namespace holdfast
