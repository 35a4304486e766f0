// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

/// 128 random bits that identify one claim, or one client. No other client can guess the id of a claim, so
/// only its owner can release the claim.
class owner_id {
 public:
  static constexpr std::size_t size = 16;
  using bytes_type = std::array<std::uint8_t, size>;

  constexpr owner_id() noexcept = default;
  constexpr explicit owner_id(const bytes_type& bytes) noexcept : bytes_{bytes} {}

  /// From the kernel's randomness.
  [[nodiscard]] static owner_id random();
  /// From 16 raw bytes.
  [[nodiscard]] static std::optional<owner_id> from_bytes(std::string_view raw);
  /// From 32 hexadecimal digits, as `hex` writes them.
  [[nodiscard]] static std::optional<owner_id> from_hex(std::string_view text);

  [[nodiscard]] std::string_view bytes() const noexcept {
    return {reinterpret_cast<const char*>(bytes_.data()), size};
  }
  [[nodiscard]] std::array<char, 2 * size> hex_digits() const noexcept;
  [[nodiscard]] std::string hex() const;

  friend constexpr auto operator<=>(const owner_id&, const owner_id&) noexcept = default;
  /// By words: the array's is a call of memcmp.
  friend constexpr bool operator==(const owner_id& a, const owner_id& b) noexcept {
    using words = std::array<std::uint64_t, 2>;
    const auto one = std::bit_cast<words>(a.bytes_);
    const auto other = std::bit_cast<words>(b.bytes_);
    return one[0] == other[0] && one[1] == other[1];
  }

 private:
  bytes_type bytes_{};
};

}  // namespace holdfast

template <>
struct std::hash<holdfast::owner_id> {
  std::size_t operator()(const holdfast::owner_id& id) const noexcept {
    std::size_t value = 0;  // the bytes are random already
    std::memcpy(&value, id.bytes().data(), sizeof value);
    return value;
  }
};
