// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace holdfast::test {

/// A TCP port on the loopback that nobody listens on now, and that no outgoing connection will be given. As
/// long as this lives no other one on this machine is the same, in whatever program: also a server that comes
/// back after a while finds it still free.
class reserved_port {
 public:
  /// \throws std::runtime_error when none is free.
  reserved_port();
  reserved_port(reserved_port&& from) noexcept;
  reserved_port& operator=(reserved_port&&) = delete;
  ~reserved_port();

  [[nodiscard]] std::uint16_t number() const noexcept { return number_; }

 private:
  std::uint16_t number_ = 0;
  int reservation_ = -1;  ///< a socket; what it is bound to is free again when it is closed, also by a kill
};

}  // namespace holdfast::test
