// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/resp.hpp"
#include "stores/redis/protocol/server_address.hpp"

/// What the servers of a cluster say of each other, and of its slots.
namespace holdfast::redis {

/// Which server of a cluster has which slots, as far as a client knows. A value.
class slot_map {
 public:
  /// Appends the question for the map. All versions of Redis and Valkey answer it.
  static void append_question(std::string& out);
  /// Reads the reply.
  /// \param from the server that was asked: it may leave out its own host. \throws misunderstood.
  [[nodiscard]] static slot_map read(const value& reply, const server_address& from);

  /// Null: no server has the slot.
  [[nodiscard]] const server_address* primary_of(std::uint16_t slot) const;
  /// \param otherwise where no server has the slot.
  [[nodiscard]] server_address primary_or(std::uint16_t slot, const server_address& otherwise) const {
    const server_address* const known = primary_of(slot);
    return known == nullptr ? otherwise : *known;
  }
  /// A server has said so (MOVED). \return false where it cannot be so: too many servers were named.
  [[nodiscard]] bool move(std::uint16_t slot, const server_address& to);
  /// Whether no slot has a server.
  [[nodiscard]] bool is_empty() const { return primaries_.empty(); }

  /// All that have slots, in an order that depends on nothing else.
  [[nodiscard]] std::vector<server_address> primaries() const;
  /// All others that were named: each may be asked for a map.
  [[nodiscard]] const std::vector<server_address>& replicas() const { return replicas_; }
  /// The last slot of a server: tools that move slots begin with the first.
  /// \param below this slot.
  [[nodiscard]] std::optional<std::uint16_t> last_slot_of(const server_address& primary,
                                                          std::uint16_t below = slot_count) const;
  /// The servers that have slots in the other map which they do not have in this one.
  [[nodiscard]] std::vector<server_address> gained_in(const slot_map& later) const;
  /// Whether a slot that had a server has another one in the other map.
  [[nodiscard]] bool differs_from(const slot_map& later) const;

 private:
  /// Zero: there is no room for another one.
  [[nodiscard]] std::uint16_t number_of(const server_address& primary);

  std::array<std::uint16_t, slot_count> owners_{};  // numbers in `primaries_`, from 1; 0: nobody
  std::vector<server_address> primaries_;           // some of them may have no slot any more
  std::vector<server_address> replicas_;
};

/// The answer of a server of a cluster to a request for another one. It has not carried the request out.
struct redirection {
  bool for_good = false;  // MOVED; or ASK: for this request, since the slot is on its way
  std::uint16_t slot = 0;
  server_address to;  // without a host where it is the one that was asked
};

/// Empty for any other error.
[[nodiscard]] std::optional<redirection> redirection_in(std::string_view error);

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
