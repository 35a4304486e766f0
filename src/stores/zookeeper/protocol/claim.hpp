#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/request.hpp"
#include "stores/zookeeper/protocol/layout.hpp"

namespace holdfast::zookeeper {

/// A claim of the client, and how far it is.
struct claim {
  enum class phase : std::uint8_t {
    entering,  // its node is being made
    unsure,    // its node may have been made
    waiting,   // behind somebody
    choosing,  // permits: first in the queue, with leases made, until there are few enough of them
    holding,
    leaving
  };

  std::uint64_t serial = 0;  // an answer to a former claim of the same owner is not taken for this one's
  tickets::request request;
  owner_id guid;  // in the names of its nodes: the owner's, made different for each time that it comes anew
  phase now = phase::entering;
  bool queued = true;  // and not holding or leaving yet
  bool sent = false;   // the creation of its node
  std::string base;    // the lock's node
  std::string queue;   // whose children queue: the lock's node, or `locks` below it
  std::optional<contender> place;
  std::vector<std::string> leases;  // of permits: the nodes that hold
  std::string gate;                 // of permits that hold: the place that it had
  fencing_token token;
  bool settled = false;   // waiting or choosing: what it waits for is watched, or looked at from time to time
  bool watched = false;   // its own nodes are, or will be by what has been sent
  bool polled = false;    // stands in the line of those who look from time to time
  bool lowering = false;  // a downgrade may have been carried out
  std::string awaited;    // the node whose end it waits for

  /// The path of its place in the queue, which it must have.
  [[nodiscard]] std::string place_path() const { return queue + '/' + place->node; }
  [[nodiscard]] std::string leases_path() const { return base + "/leases"; }
  /// A downgrade has no answer yet.
  [[nodiscard]] bool lowers() const { return lowering && place && place->excludes(); }
  /// Under numbers that are not known yet.
  [[nodiscard]] bool makes_leases() const { return now == phase::choosing && leases.empty(); }
};

/// A claim that can be looked up again later.
struct claim_ref {
  owner_id owner;
  std::uint64_t serial = 0;
};

}  // namespace holdfast::zookeeper
