#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "stores/redis/protocol/keys.hpp"

namespace holdfast::redis {

/// The sharded channels on which a connection to a server of a cluster hears: one for each slot in which the
/// client waits. Any thread.
///
/// All nodes of a cluster pass on what is published on an ordinary channel. A sharded channel (Redis 7)
/// belongs to a slot, and only the servers that have this slot pass on its messages.
class shard_channels {
 public:
  [[nodiscard]] bool has(std::uint16_t slot) const { return (word_of(slot) & bit_of(slot)) != 0; }
  void add(std::uint16_t slot) { word_of(slot) |= bit_of(slot); }
  void remove(std::uint16_t slot) { word_of(slot) &= ~bit_of(slot); }

 private:
  static constexpr std::size_t bits = 64;
  using word = std::atomic<std::uint64_t>;

  [[nodiscard]] word& word_of(std::uint16_t slot) { return words_.at(slot / bits); }
  [[nodiscard]] const word& word_of(std::uint16_t slot) const { return words_.at(slot / bits); }
  [[nodiscard]] static std::uint64_t bit_of(std::uint16_t slot) { return std::uint64_t{1} << slot % bits; }

  std::array<word, slot_count / bits> words_{};
};

}  // namespace holdfast::redis
