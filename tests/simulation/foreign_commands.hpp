// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace holdfast::sim {

/// What a server does for lock clients of others: the three commands of the documented pattern, as redis-py
/// sends them. Empty: the server refused.
class foreign_commands {
 public:
  foreign_commands() = default;
  foreign_commands(const foreign_commands&) = delete;
  foreign_commands& operator=(const foreign_commands&) = delete;

  using milliseconds = std::chrono::milliseconds;
  virtual std::optional<bool> set_if_absent(std::size_t name, const std::string& value, milliseconds ttl) = 0;
  virtual std::optional<bool> delete_if_same(std::size_t name, const std::string& value) = 0;
  virtual std::optional<bool> extend_if_same(std::size_t name, const std::string& value,
                                             milliseconds ttl) = 0;

 protected:
  ~foreign_commands() = default;
};

}  // namespace holdfast::sim
