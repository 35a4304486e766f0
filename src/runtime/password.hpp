// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <utility>

namespace holdfast::runtime {

/// A password of a store: one that does not change, from its URL, or one that a function returns for each
/// login.
class password {
 public:
  password() = default;
  explicit password(std::string fixed) : fixed_{std::move(fixed)} {}
  explicit password(std::function<std::string()> source) : source_{std::move(source)} {}

  [[nodiscard]] bool is_given() const noexcept { return source_ || !fixed_.empty(); }
  /// For a login now. \throws connection_error where the function throws; another attempt may succeed.
  [[nodiscard]] std::string current() const;

 private:
  std::string fixed_;
  std::function<std::string()> source_;
};

}  // namespace holdfast::runtime
