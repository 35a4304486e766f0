// SPDX-License-Identifier: Apache-2.0
// Any bytes as a URL, and any as its password: what is shown never contains the password.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <holdfast/client.hpp>

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

// Found again wherever it stands; nothing else in the input can be taken for it.
constexpr std::string_view secret = "\x01secret\x01";

void require_masked(const std::string& url) {
  require(holdfast::masked_url(url).find(secret) == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text{reinterpret_cast<const char*>(data), size};
  const std::string masked = holdfast::masked_url(text);
  require(holdfast::masked_url(masked) == masked);

  if (text.find('\x01') != std::string::npos) return 0;
  // Whatever surrounds it inside the password, wherever a password may stand.
  const std::string password = text.substr(0, size / 2) + std::string{secret} + text.substr(size / 2);
  require_masked("redis://user:" + password + "@host:6379/0");
  require_masked("redis://:" + password + "@host");
  std::string value = password;
  std::replace(value.begin(), value.end(), '&', '+');  // a bare & ends an option
  require_masked("mysql://host/db?a=1&password=" + value);
  require_masked("mysql://host/db?password=" + value + "&a=1");
  return 0;
}
