// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
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

/// What the side keys of a lock's key begin with: they end in "fence", "waiters" and "holders".
[[nodiscard]] std::string side_key_stem(const std::string& lock);

/// The key in which a server keeps whose grants it knows: see failover_guard. One for each prefix, so that a
/// user needs no rights beyond its prefix.
[[nodiscard]] std::string guard_key(std::string_view prefix);
/// The same for a server of a cluster that has this slot.
[[nodiscard]] std::string guard_key(std::string_view prefix, std::uint16_t slot);

/// The key in which one of several servers keeps which these are.
[[nodiscard]] std::string quorum_key(std::string_view prefix);

/// The word of ACL SETUSER, as a line of redis-cli has it, for all keys that begin so: "~holdfast:*".
/// \param before the prefix stands in the keys: a pattern, which may be empty.
[[nodiscard]] std::string key_grant(std::string_view before, std::string_view prefix);

/// A side key as a word for a shell. A terminal takes no control character, so printf writes the one of the
/// key.
[[nodiscard]] std::string key_for_shell(std::string_view key);

/// Returns a pattern of SCAN that matches exactly these bytes.
[[nodiscard]] std::string literally(std::string_view bytes);

/// A hash tag of a slot, without its braces.
[[nodiscard]] std::string tag_in(std::uint16_t slot);

/// Returns the lock's key of a fence's key; empty for any other key.
[[nodiscard]] std::optional<std::string> lock_of_fence(std::string_view key);
/// Returns the lock's key of any side key; empty for any other key.
[[nodiscard]] std::optional<std::string> lock_of_side_key(std::string_view key);

/// Whether a key may be one that Holdfast has beside a lock's key: no name contains the separator.
[[nodiscard]] inline bool is_side_key(std::string_view key) {
  return key.find('\x1f') != std::string_view::npos;
}

inline constexpr std::uint16_t slot_count = 16384;

/// The hash slot of a key, as Redis Cluster defines it: CRC-16/XMODEM of the tag, if there is one, modulo
/// 16384.
[[nodiscard]] std::uint16_t slot_of(std::string_view key);

/// A script that the server carries out for a request.
struct script {
  std::string_view sha1;
  std::string_view text;
};

/// Appends the head of a command that calls a script. `append_keys` has to follow for each name, then the
/// arguments.
/// \param in_full with the text of the script, not with its digest.
void begin_call(std::string& out, const script& s, bool in_full, std::size_t names, std::size_t arguments);
void append_keys(std::string& out, std::string_view prefix, std::string_view name);

}  // namespace holdfast::redis
