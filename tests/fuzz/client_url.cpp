// SPDX-License-Identifier: Apache-2.0
// Any bytes as the URL of a client: it opens, or says that the URL is wrong. Only stores in memory are
// opened, so that the fuzzer leaves the disk alone.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <holdfast/holdfast.hpp>

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void open(const std::string& url) {
  try {
    const holdfast::client locks{url};
    require(locks.url() == holdfast::masked_url(url));
  } catch (const holdfast::error& refused) {
    require(refused.code() == holdfast::errc::invalid_url);
    for (const char byte : refused.detail()) require(static_cast<unsigned char>(byte) >= 0x20);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text{reinterpret_cast<const char*>(data), size};
  open("memory:" + text);
  const auto scheme = text.substr(0, text.find(':'));
  const bool goes_out = scheme == "sqlite" || scheme == "redis" || scheme == "rediss" || scheme == "unix";
  if (!goes_out) open(text);
  return 0;
}
