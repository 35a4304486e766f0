// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::test {

/// Which way bytes go through a proxy.
enum class direction { to_server, to_client };

/// How a connection ends: as a close does, as a crash of the machine does, or, of `cut_by` alone, so that
/// nobody is told: what comes later that way is swallowed.
enum class ending { finish, reset, silence };

/// What a proxy does to the bytes that go one way. Nothing, at first.
struct interference {
  bool swallow = false;  ///< takes them, and passes none on: the other side is gone, and nobody says so
  bool stall = false;    ///< takes none either: its buffers fill; they go on when it is over
  std::optional<std::size_t> cut_after{};  ///< ends the connection behind so many more bytes; once
  ending cut_by = ending::reset;
  std::size_t bytes_per_second = 0;   ///< of each connection; 0: as fast as they come
  std::chrono::milliseconds delay{};  ///< of each piece
};

/// A TCP proxy on the loopback that does to its connections what networks do. It has a thread of its own;
/// the functions may be called from any other, and have taken effect when they return.
class fault_proxy {
 public:
  /// Forwards to a port on the loopback.
  explicit fault_proxy(std::uint16_t server_port);
  ~fault_proxy();
  fault_proxy(const fault_proxy&) = delete;
  fault_proxy& operator=(const fault_proxy&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept;

  /// What is said to a client in place of a piece of what the server says, given the last piece that this
  /// client has sent. Called on the proxy's thread.
  using forger = std::function<std::string(std::string_view request, std::string_view answer)>;

  /// On all connections, those to come included, in place of what was said before of this direction.
  void interfere(direction way, interference effect);
  /// On all connections, those to come included.
  void forge(forger forge);
  /// Passes everything on again, both ways. Connections that lost bytes, or got others, are reset: there is
  /// no way on for them.
  void heal();
  /// Refuses connections, or takes them again. Those that there are stay.
  void refuse(bool on);
  /// Ends all connections.
  void cut_all(ending end);

  /// Connections taken since the start, and those that there are.
  [[nodiscard]] std::size_t taken() const;
  [[nodiscard]] std::size_t open() const;
  /// Bytes passed on since the start, and those that were not.
  [[nodiscard]] std::size_t passed(direction way) const;
  [[nodiscard]] std::size_t swallowed(direction way) const;

 private:
  class core;
  std::unique_ptr<core> core_;
};

}  // namespace holdfast::test
