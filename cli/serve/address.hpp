// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace holdfast::cli {

/// Where `serve` listens.
struct listen_address {
  std::string host;        ///< an IP address, without brackets
  std::uint16_t port = 0;  ///< zero: any that is free
  bool is_loopback = false;
  bool is_any = false;  ///< of all interfaces
};

/// Reads `127.0.0.1:8377`, `[::1]:8377` or `localhost:8377`. A name is not looked up, since it may come to
/// mean another address.
/// \throws failure (bad_usage).
[[nodiscard]] listen_address parse_listen_address(const std::string& text);

/// An IP address as it stands in a URL: `[::1]`.
[[nodiscard]] std::string in_url(const std::string& host);

}  // namespace holdfast::cli
