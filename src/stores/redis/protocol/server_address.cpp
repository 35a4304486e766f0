// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/protocol/server_address.hpp"

#include <algorithm>
#include <charconv>

namespace holdfast::redis {

namespace {

constexpr std::size_t longest_host = 255;

}  // namespace

bool is_host(std::string_view text) {
  return !text.empty() && text.size() <= longest_host && std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte > 0x20 && byte < 0x7f && std::string_view{"/?&#%@\"'"}.find(c) == std::string_view::npos;
  });
}

bool is_port(std::string_view text) {
  unsigned port = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), port);
  return problem == std::errc{} && end == text.data() + text.size() && port > 0 && port <= 65535;
}

}  // namespace holdfast::redis
