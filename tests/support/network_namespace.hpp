// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {

/// A network of its own, with one line to ours on which packets can be made to vanish: neither side is told,
/// as with a cable that is cut somewhere far away. It is gone with this object.
class network_namespace {
 public:
  /// Why there can be none here; nothing where there can.
  [[nodiscard]] static std::optional<std::string> problem();

  /// \throws std::runtime_error if it cannot be made.
  network_namespace();
  ~network_namespace();
  network_namespace(const network_namespace&) = delete;
  network_namespace& operator=(const network_namespace&) = delete;

  /// The addresses of the line's ends.
  [[nodiscard]] const std::string& inside() const noexcept { return inside_; }
  [[nodiscard]] const std::string& outside() const noexcept { return outside_; }
  /// The arguments before those of a program that is to run inside.
  [[nodiscard]] std::vector<std::string> within() const { return {"ip", "netns", "exec", name_}; }

  /// From now on all packets vanish; until healed, they arrive again.
  void cut();
  void heal();

 private:
  std::string name_;
  std::string line_;  // our end of it; theirs is `eth0`
  std::string inside_;
  std::string outside_;
};

}  // namespace holdfast::test
