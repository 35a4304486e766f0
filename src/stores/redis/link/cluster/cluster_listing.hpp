#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/link.hpp"
#include "core/request.hpp"
#include "holdfast/state.hpp"
#include "stores/redis/protocol/listing.hpp"
#include "stores/redis/protocol/server_address.hpp"
#include "stores/redis/protocol/slot_map.hpp"

namespace holdfast::redis {

/// The state of the listing of a cluster: one server after another, then the names that moved meanwhile. A
/// slot that moved from a server that was still to be asked to one that had been asked was seen on neither.
/// So the servers that got slots meanwhile are asked once more.
struct cluster_listing final : tickets::listing_state {
  slot_map map;                               // when the servers that are left were chosen
  std::vector<server_address> left;           // to ask
  unsigned passes = 0;                        // so far
  std::shared_ptr<listing> current;           // of the last of `left`
  std::map<std::string, lock_summary> found;  // by name: one that moves may be found twice
  std::set<std::string> moved;                // names

  [[nodiscard]] std::vector<lock_summary> summaries() const {
    std::vector<lock_summary> all;
    all.reserve(found.size());
    for (const auto& [name, summary] : found) all.push_back(summary);
    return all;
  }
  /// Takes the outcome of a listing of the first of `moved` alone.
  /// \return false for an error of a server: the name has to be asked for again.
  [[nodiscard]] bool take_moved(const tickets::link::outcome& of) {
    const auto* const reply = std::get_if<tickets::reply>(&of);
    const auto* const listed = reply == nullptr ? nullptr : std::get_if<std::vector<lock_summary>>(reply);
    if (listed == nullptr) return false;
    moved.erase(moved.begin());
    for (const lock_summary& each : *listed) found.insert_or_assign(each.name, each);
    return true;
  }
};

}  // namespace holdfast::redis
