// SPDX-License-Identifier: Apache-2.0
#include "serve/address.hpp"

#include <arpa/inet.h>
#include <charconv>
#include <cstring>
#include <fmt/format.h>
#include <netinet/in.h>
#include <string_view>

#include "failure.hpp"

namespace holdfast::cli {

namespace {

failure no_address(const std::string& text) {
  return {bad_usage, fmt::format("--listen: '{}' is not an address and a port: use 127.0.0.1:8377 or "
                                 "[::1]:8377; port 0 means any that is free",
                                 text)};
}

/// \return whether it is an IP address.
bool classify(listen_address& into) {
  in_addr four{};
  if (::inet_pton(AF_INET, into.host.c_str(), &four) == 1) {
    const auto number = ntohl(four.s_addr);
    into.is_loopback = number >> 24 == 127;
    into.is_any = number == INADDR_ANY;
    return true;
  }
  in6_addr six{};
  if (::inet_pton(AF_INET6, into.host.c_str(), &six) != 1) return false;
  into.is_loopback = std::memcmp(&six, &in6addr_loopback, sizeof six) == 0;
  into.is_any = std::memcmp(&six, &in6addr_any, sizeof six) == 0;
  return true;
}

}  // namespace

std::string in_url(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

listen_address parse_listen_address(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) throw no_address(text);
  listen_address result;
  result.host = text.substr(0, colon);
  if (result.host.starts_with('[') && result.host.ends_with(']')) {
    result.host = result.host.substr(1, result.host.size() - 2);
    if (result.host.find(':') == std::string::npos) throw no_address(text);
  } else if (result.host.find(':') != std::string::npos) {
    throw no_address(text);  // of an IPv6 address without brackets, which part is the port?
  }
  if (result.host == "localhost") result.host = "127.0.0.1";
  const std::string_view port = std::string_view{text}.substr(colon + 1);
  const auto* const end = port.data() + port.size();
  const auto read = std::from_chars(port.data(), end, result.port);
  if (read.ec != std::errc{} || read.ptr != end || port.empty() || !classify(result)) throw no_address(text);
  return result;
}

}  // namespace holdfast::cli
