#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::redis {

/// The keys of one name (see lua/claims.lua). The lock's key is prefix + name, byte for byte, so that foreign
/// clients share it. The side keys are in the hash slot of the lock's key, whatever its bytes. No side key is
/// a lock's key, because names contain no control characters.
///
///     lock's key           key of its fence                hash tag
///     holdfast:nightly     {holdfast:nightly}<US>fence     the lock's key
///     jobs{eu}:nightly     {eu}jobs{eu}:nightly<US>fence   the tag of the lock's key
///     holdfast:a}b         {20348}holdfast:a}b<US>fence    the lock's key cannot be one: a number of its slot
struct keys {
  std::string lock;
  std::string fence;
  std::string waiters;
  std::string holders;

  [[nodiscard]] static keys of(std::string_view prefix, std::string_view name);
};

/// The key in which a server keeps whose grants it knows: see failover_guard. One for each prefix, so that a
/// user needs no rights beyond its prefix.
[[nodiscard]] std::string guard_key(std::string_view prefix);

/// Returns the lock's key of a fence's key; empty for any other key.
[[nodiscard]] std::optional<std::string> lock_of_fence(std::string_view key);
/// Returns the lock's key of any side key; empty for any other key.
[[nodiscard]] std::optional<std::string> lock_of_side_key(std::string_view key);

/// The hash slot of a key, as Redis Cluster defines it: CRC-16/XMODEM of the tag, if there is one, modulo
/// 16384.
[[nodiscard]] std::uint16_t slot_of(std::string_view key);

}  // namespace holdfast::redis
