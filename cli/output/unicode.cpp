// SPDX-License-Identifier: Apache-2.0
#include "output/unicode.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

namespace holdfast::cli {

namespace {

struct range {
  char32_t first;
  char32_t last;
};

constexpr std::array deceptive{
    range{0x00, 0x1f},     range{0x7f, 0x9f},       range{0xad, 0xad},     range{0x34f, 0x34f},
    range{0x61c, 0x61c},   range{0x115f, 0x1160},   range{0x17b4, 0x17b5}, range{0x180b, 0x180f},
    range{0x200b, 0x200f}, range{0x2028, 0x202e},   range{0x2060, 0x206f}, range{0x2800, 0x2800},
    range{0x3164, 0x3164}, range{0xfe00, 0xfe0f},   range{0xfeff, 0xfeff}, range{0xffa0, 0xffa0},
    range{0xfff9, 0xfffb}, range{0xe0000, 0xe0fff},
};

constexpr std::array combining{
    range{0x300, 0x36f},   range{0x483, 0x489},   range{0x591, 0x5bd},   range{0x610, 0x61a},
    range{0x64b, 0x65f},   range{0x1ab0, 0x1aff}, range{0x1dc0, 0x1dff}, range{0x20d0, 0x20ff},
    range{0xfe00, 0xfe0f}, range{0xfe20, 0xfe2f},
};

constexpr std::array wide{
    range{0x1100, 0x115f},   range{0x2e80, 0x303e},   range{0x3041, 0xa4cf},   range{0xa960, 0xa97c},
    range{0xac00, 0xd7a3},   range{0xf900, 0xfaff},   range{0xfe30, 0xfe6f},   range{0xff00, 0xff60},
    range{0xffe0, 0xffe6},   range{0x1f300, 0x1f64f}, range{0x1f680, 0x1f6ff}, range{0x1f900, 0x1f9ff},
    range{0x20000, 0x3fffd},
};

bool contains(std::span<const range> ranges, char32_t code) {
  return std::ranges::any_of(ranges, [&](const range& r) { return r.first <= code && code <= r.last; });
}

/// How many bytes the character with this first byte has; 0 where no character begins so.
std::size_t length_by_first(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return 2;
  if (first >= 0xe0 && first <= 0xef) return 3;
  if (first >= 0xf0 && first <= 0xf4) return 4;
  return 0;
}

bool is_character(char32_t code, std::size_t length) {
  constexpr std::array<char32_t, 5> smallest{0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code >= smallest[length] && code <= 0x10ffff && !surrogate;
}

}  // namespace

character take_character(std::string_view& text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto take = [&](char32_t code, std::size_t length, bool valid) {
    const character taken{code, text.substr(0, length), valid};
    text.remove_prefix(length);
    return taken;
  };
  const std::size_t length = length_by_first(byte(0));
  if (length == 1) return take(byte(0), 1, true);
  if (length == 0 || length > text.size()) return take(byte(0), 1, false);

  char32_t code = byte(0) & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return take(byte(0), 1, false);
    code = (code << 6U) | (byte(i) & 0x3fU);
  }
  if (!is_character(code, length)) return take(byte(0), 1, false);
  return take(code, length, true);
}

bool is_deceptive(char32_t code) { return contains(deceptive, code); }

int column_count(char32_t code) {
  if (contains(combining, code)) return 0;
  return contains(wide, code) ? 2 : 1;
}

}  // namespace holdfast::cli
