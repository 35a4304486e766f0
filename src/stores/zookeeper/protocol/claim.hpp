#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/claim.hpp"
#include "stores/zookeeper/protocol/layout.hpp"

namespace holdfast::zookeeper {

/// A claim of the client, and its phase.
struct claim {
  enum class phase : std::uint8_t {
    entering,  // its node is being created
    unsure,    // its node may have been created
    waiting,   // behind another contender
    choosing,  // permits: first in the queue, with its leases created; waits until the leases fit into the
               // capacity
    holding,
    leaving
  };
  std::uint64_t serial = 0;  // distinguishes it from a former claim of the same owner
  store::claim request;
  owner_id guid;  // in the names of its nodes: derived from the owner id, different for each new entry
  phase now = phase::entering;
  bool queued = true;  // in the queue: neither holding nor leaving
  bool sent = false;   // the creation of its node
  std::string base;    // the lock's node
  std::string queue;   // the parent of the contenders: the lock's node, or `locks` below it
  std::optional<contender> place;
  std::vector<std::string> leases;  // of permits: the nodes of the hold
  std::string gate;                 // of permits that hold: the former place in the queue
  fencing_token token;
  bool settled = false;             // waiting or choosing: the awaited node is watched or polled
  bool watched = false;             // its own nodes are watched, or will be by requests in flight
  bool has_unread_request = false;  // to release: it came before the client knew that it holds
  bool polled = false;              // is in the line of polling claims
  bool lowering = false;            // a downgrade may have been carried out
  std::string awaited;              // the node whose removal it waits for
  std::optional<std::int64_t> written_capacity{};  // of permits: as the last to hold some has written it

  /// The path of its place in the queue. It must have one.
  [[nodiscard]] std::string place_path() const { return queue + '/' + place->node; }
  [[nodiscard]] std::string leases_path() const { return base + "/leases"; }
  /// A downgrade has no answer yet.
  [[nodiscard]] bool lowers() const { return lowering && place && place->excludes(); }
  /// Whether it may have leases with unknown numbers.
  [[nodiscard]] bool makes_leases() const { return now == phase::choosing && leases.empty(); }
};

/// A claim that can be looked up again later.
struct claim_ref {
  owner_id owner;
  std::uint64_t serial = 0;
};

}  // namespace holdfast::zookeeper
