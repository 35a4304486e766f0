// SPDX-License-Identifier: Apache-2.0
#include "simulation/redis/sha1.hpp"

#include <array>
#include <bit>
#include <cstdint>

namespace holdfast::sim {

namespace {

using state = std::array<std::uint32_t, 5>;

void digest_block(state& h, const unsigned char* block) {
  std::array<std::uint32_t, 80> w{};
  for (std::size_t i = 0; i < 16; ++i) {
    const unsigned char* b = block + 4 * i;
    w[i] = std::uint32_t{b[0]} << 24 | std::uint32_t{b[1]} << 16 | std::uint32_t{b[2]} << 8 | b[3];
  }
  for (std::size_t i = 16; i < 80; ++i) w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);

  auto [a, b, c, d, e] = h;
  for (std::size_t i = 0; i < 80; ++i) {
    std::uint32_t f = 0;
    if (i < 20)
      f = ((b & c) | (~b & d)) + 0x5a827999U;
    else if (i < 40)
      f = (b ^ c ^ d) + 0x6ed9eba1U;
    else if (i < 60)
      f = ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdcU;
    else
      f = (b ^ c ^ d) + 0xca62c1d6U;
    const std::uint32_t next = std::rotl(a, 5) + f + e + w[i];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  h[0] += a;
  h[1] += b;
  h[2] += c;
  h[3] += d;
  h[4] += e;
}

}  // namespace

std::string sha1_hex(std::string_view text) {
  std::string padded{text};
  padded += '\x80';
  while (padded.size() % 64 != 56) padded += '\0';
  const std::uint64_t bits = std::uint64_t{text.size()} * 8;
  for (int shift = 56; shift >= 0; shift -= 8) padded += static_cast<char>(bits >> shift & 0xff);

  state h{0x67452301U, 0xefcdab89U, 0x98badcfeU, 0x10325476U, 0xc3d2e1f0U};
  for (std::size_t at = 0; at < padded.size(); at += 64) {
    digest_block(h, reinterpret_cast<const unsigned char*>(padded.data()) + at);
  }
  std::string hex;
  for (const std::uint32_t word : h) {
    for (int shift = 28; shift >= 0; shift -= 4) hex += "0123456789abcdef"[word >> shift & 0xf];
  }
  return hex;
}

}  // namespace holdfast::sim
