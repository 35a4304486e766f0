// SPDX-License-Identifier: Apache-2.0
// Any bytes as the name of a lock: it is refused, or it is a lock of just that name.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <holdfast/holdfast.hpp>

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

bool has_control_characters(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7f) return true;
    const bool c1 = byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (c1) return true;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static holdfast::client locks{"memory:fuzz-name"};
  const std::string_view name{reinterpret_cast<const char*>(data), size};
  try {
    holdfast::mutex lock{locks, name};
    require(!name.empty() && name.size() <= 512 && !has_control_characters(name));
    require(lock.name() == name);
    require(lock.try_lock());
    const auto state = locks.inspect(name);
    require(state && state->name == name && state->holders.size() == 1);
    lock.unlock();
  } catch (const holdfast::error& refused) {
    require(refused.code() == holdfast::errc::invalid_name);
    require(!has_control_characters(refused.what()));  // may be shown on a terminal
  }
  return 0;
}
