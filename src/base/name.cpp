// SPDX-License-Identifier: Apache-2.0
#include "base/name.hpp"

#include <array>
#include <cstdint>

#include "holdfast/error.hpp"

namespace holdfast {

namespace {

struct code_point {
  char32_t value = 0;
  std::size_t bytes = 0;  // zero: not UTF-8
};

/// The first code point of a text that is not empty; strict: no overlong forms, no surrogates (RFC 3629).
code_point first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  constexpr std::array<char32_t, 5> smallest{0, 0, 0x80, 0x800, 0x10000};
  char32_t value = lead & (0xFFU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return {};
    value = (value << 6U) | (byte(i) & 0x3FU);
  }
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < smallest[bytes] || value > 0x10FFFF || surrogate) return {};
  return {value, bytes};
}

constexpr bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7F && c <= 0x9F); }

std::string hex(char32_t value) {
  constexpr std::string_view digits = "0123456789abcdef";
  return {'0', 'x', digits[(value >> 4U) & 0xFU], digits[value & 0xFU]};
}

}  // namespace

std::optional<std::string> problem_of_text(std::string_view text, std::size_t longest) {
  if (text.size() > longest) {
    return "it has " + std::to_string(text.size()) + " bytes, and " + std::to_string(longest) +
           " are allowed";
  }
  for (std::size_t at = 0; at < text.size();) {
    const code_point c = first_of(text.substr(at));
    if (c.bytes == 0) {
      return "byte " + std::to_string(at + 1) + " (" + hex(static_cast<std::uint8_t>(text[at])) +
             ") is not UTF-8";
    }
    if (is_control(c.value)) {
      return "byte " + std::to_string(at + 1) + " is the control character " + hex(c.value);
    }
    at += c.bytes;
  }
  return std::nullopt;
}

lock_name::lock_name(std::string_view text) : text_{text} {
  if (text.empty()) throw error{errc::invalid_name, "the name is empty; a lock's name has 1 to 512 bytes"};
  // The message does not contain the name, which may contain escape sequences, because messages reach
  // terminals.
  if (const auto problem = problem_of_text(text, longest)) {
    throw error{errc::invalid_name, "the name is not allowed: " + *problem};
  }
}

}  // namespace holdfast
