// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

#include "holdfast/export.hpp"  // IWYU pragma: keep (it asks for C++20)

namespace holdfast {

/// The number that every grant of a name carries, larger than that of every earlier grant of it.
///
/// Nothing stops a paused client from acting late, but the resource can refuse it: pass the token to the
/// resource with each write, and let the resource refuse a token below the largest that it has seen
/// (M. Kleppmann, "How to do distributed locking", 2016). Zero means "no grant".
class fencing_token {
 public:
  /// No grant.
  constexpr fencing_token() noexcept = default;
  /// The token with this number, as it was stored or sent elsewhere.
  constexpr explicit fencing_token(std::uint64_t value) noexcept : value_{value} {}

  /// The number; zero for "no grant".
  [[nodiscard]] constexpr std::uint64_t value() const noexcept { return value_; }
  /// Whether the token belongs to a grant.
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return value_ != 0; }

  /// By number: the later grant of a name is the greater. Tokens of different names do not compare.
  friend constexpr auto operator<=>(fencing_token, fencing_token) noexcept = default;

 private:
  std::uint64_t value_ = 0;
};

}  // namespace holdfast

/// For unordered containers: equal tokens have equal hashes.
template <>
struct std::hash<holdfast::fencing_token> {
  /// The hash of its number.
  std::size_t operator()(holdfast::fencing_token token) const noexcept {
    return std::hash<std::uint64_t>{}(token.value());
  }
};
