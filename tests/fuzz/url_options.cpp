// SPDX-License-Identifier: Apache-2.0
// Any bytes as the options of a store URL: taken apart, or refused by errc::invalid_url; a value that was
// escaped comes back as it was.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/url.hpp"
#include "holdfast/error.hpp"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

template <class Work>
bool accepted(Work work) {
  try {
    work();
    return true;
  } catch (const holdfast::error& refused) {
    require(refused.code() == holdfast::errc::invalid_url);
    return false;
  }
}

std::string escaped(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string result;
  for (const char byte : text) {
    const auto value = static_cast<unsigned char>(byte);
    result += {'%', digits[value / 16], digits[value % 16]};
  }
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text{reinterpret_cast<const char*>(data), size};

  accepted([&] {
    holdfast::store_url url{"memory:?" + text};
    require(url.scheme() == "memory");
    accepted([&] { require(url.take_duration("busy", {}) >= holdfast::duration::zero()); });
    accepted([&] { static_cast<void>(url.take_flag("shared", false)); });
    accepted([&] { url.refuse_rest("busy, shared"); });
  });

  const bool has_nul = text.find('\0') != std::string::npos;
  if (size > 1000) return 0;
  const bool read = accepted([&] {
    holdfast::store_url url{"memory:" + escaped(text) + "?key=" + escaped(text)};
    require(url.path() == text);
    require(url.take("key") == text);
    require(!url.take("key"));
    url.refuse_rest("");
  });
  require(read == !has_nul);
  return 0;
}
