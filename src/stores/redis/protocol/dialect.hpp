// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/owner_id.hpp"
#include "stores/redis/protocol/keys.hpp"

namespace holdfast::redis {

/// The protocol settings that the clients of one URL share.
struct dialect {
  std::string prefix = "holdfast:";              // of every lock's key
  bool votes = false;                            // the server is one of several: see stores/quorum
  std::chrono::milliseconds keep{3600 * 1000};   // how long an unused name's token is remembered
  unsigned replicas = 0;                         // how many replicas have to acknowledge a grant
  std::chrono::milliseconds replicas_wait{200};  // their time limit; every other request waits meanwhile
  /// How long a server that may have forgotten grants makes no new ones; zero: it makes them. See
  /// failover_guard.
  std::chrono::milliseconds guard{30'000};
  const char* guard_option = "failover_guard";  // as the URL names it
  /// How long a former primary may take writes after the promotion of another one. Nobody uses the new one
  /// meanwhile, and the guard is longer by that.
  std::chrono::milliseconds former_primary{0};

  /// Whether a grant is sent with the secret of its claim, which proves it. Not if the client has to ask
  /// others as well.
  [[nodiscard]] bool proves_grants() const { return !votes && replicas == 0; }

  /// Where the server is one of several: it accepts no number as token that is further ahead of its clock,
  /// so one whose clock is behind the others by more refuses theirs. The scripts have it in
  /// lua/quorum/furthest.lua.
  static constexpr std::chrono::milliseconds furthest_number{1000};
  /// Where the server is one of several: it accepts no number as token that is so much behind its clock;
  /// zero: any. See lua/quorum/grant.lua.
  [[nodiscard]] std::chrono::milliseconds oldest_number() const {
    return guard.count() == 0 ? guard : guard - furthest_number;
  }
  /// The hash slot of the lock's key.
  [[nodiscard]] std::uint16_t slot_of(std::string_view name) const {
    return redis::slot_of(std::string{prefix}.append(name));
  }
};

/// The channel of the notifications for a client.
[[nodiscard]] inline std::string channel_of(const owner_id& client) {
  return "holdfast:client:" + client.hex();
}
/// The client's channel for what concerns names of a slot, on the servers that have this slot.
[[nodiscard]] inline std::string channel_of(const owner_id& client, std::uint16_t slot) {
  return channel_of(client) + "{" + tag_in(slot) + "}";
}

}  // namespace holdfast::redis
