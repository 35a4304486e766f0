// SPDX-License-Identifier: Apache-2.0
#include "base/owner_id.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <span>
#include <sys/random.h>
#include <unistd.h>

#include "base/kernel_random.hpp"
#include "holdfast/error.hpp"

namespace holdfast {

namespace {

/// A pool, because a system call for each claim would cost as much as the claim. Per thread, and void in
/// a child after fork(), which must not draw its parent's next ids.
struct pool {
  std::array<std::uint8_t, 512> bytes{};
  std::size_t used = 512;
  pid_t filled_by = 0;
};

constexpr std::string_view digits = "0123456789abcdef";

/// The two digits of each byte.
constexpr auto pairs_of_digits = [] {
  std::array<std::array<char, 2>, 256> all{};
  for (std::size_t byte = 0; byte < all.size(); ++byte)
    all.at(byte) = {digits[byte >> 4U], digits[byte & 0xFU]};
  return all;
}();

}  // namespace

void fill_randomly(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::getrandom(bytes.data(), bytes.size(), 0);
    if (n > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    } else if (errno != EINTR) {
      throw error{errc::exhausted, "the kernel returned no random bytes (getrandom)"};
    }
  }
}

owner_id owner_id::random() {
  thread_local pool p;
  const pid_t self = ::getpid();
  if (p.used == p.bytes.size() || p.filled_by != self) {
    fill_randomly(std::as_writable_bytes(std::span{p.bytes}));
    p.used = 0;
    p.filled_by = self;
  }
  bytes_type bytes;
  const auto from = p.bytes.begin() + static_cast<std::ptrdiff_t>(p.used);
  std::copy_n(from, size, bytes.begin());
  std::fill_n(from, size, std::uint8_t{0});
  p.used += size;
  return owner_id{bytes};
}

std::optional<owner_id> owner_id::from_bytes(std::string_view raw) {
  if (raw.size() != size) return std::nullopt;
  bytes_type bytes;
  std::memcpy(bytes.data(), raw.data(), size);
  return owner_id{bytes};
}

std::optional<owner_id> owner_id::from_hex(std::string_view text) {
  if (text.size() != 2 * size) return std::nullopt;
  bytes_type bytes;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t high = digits.find(text[2 * i]);
    const std::size_t low = digits.find(text[2 * i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    bytes.at(i) = static_cast<std::uint8_t>(high << 4U | low);
  }
  return owner_id{bytes};
}

std::array<char, 2 * owner_id::size> owner_id::hex_digits() const noexcept {
  std::array<char, 2 * size> text{};
  char* to = text.data();
  for (const std::uint8_t byte : bytes_) {
    to = std::copy_n(pairs_of_digits[byte].begin(), 2, to);
  }
  return text;
}

std::string owner_id::hex() const {
  const auto text = hex_digits();
  return {text.data(), text.size()};
}

}  // namespace holdfast
