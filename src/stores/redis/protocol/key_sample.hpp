#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stores/redis/protocol/value.hpp"

namespace holdfast::redis {

/// Side keys of a prefix among the first keys of a database, as SCAN has them: a server with many keys is not
/// searched as a whole.
struct key_sample {
  enum class kind : std::uint8_t {
    none,     // of another prefix, or such as each store has
    fence,    // of a name
    older,    // of Holdfast 0.1: see docs/upgrades.md
    foreign,  // of no layout that this version knows
  };
  struct entry {
    std::string key;
    kind purpose = kind::none;
    std::int64_t left_ms = -1;  // its time to live; -1: it has no end; -2: it is gone
    bool is_held = false;       // of a fence: a claim of Holdfast holds the name
  };

  std::vector<entry> entries;
  bool is_whole = false;  // there are no others
  std::string refusal;    // why they were not looked at; empty: they were

  /// The key of a name that a fence is of, without the prefix.
  [[nodiscard]] static std::string name_of(const entry& fence, std::string_view prefix);
};

/// What a key is for the clients of a prefix.
[[nodiscard]] key_sample::kind kind_of(std::string_view key, std::string_view prefix);
/// A pattern of SCAN for the side keys of a prefix, and some others.
[[nodiscard]] std::string side_key_pattern(std::string_view prefix);

/// A script that changes nothing. KEYS: a lock's key and a side key. Returns the first bytes of the lock's
/// value, and the side key's time to live.
extern const char* const key_question;
/// Reads its reply. An error leaves the entry as one that is gone.
void hear_key(const value& reply, key_sample::entry& of);

}  // namespace holdfast::redis
