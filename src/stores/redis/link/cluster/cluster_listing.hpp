#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/request.hpp"
#include "core/summary.hpp"
#include "holdfast/error.hpp"
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
  /// Takes the outcome of an inspection of the first of `moved`.
  /// \param idle names as well that nobody holds or waits for.
  /// \return false for an error of a server: the name has to be inspected again.
  [[nodiscard]] bool take_moved(const tickets::link::outcome& of, bool idle) {
    const auto* const reply = std::get_if<tickets::reply>(&of);
    const auto* const state = reply == nullptr ? nullptr : std::get_if<std::optional<lock_state>>(reply);
    const auto* const error = std::get_if<store::request_error>(&of);
    const bool is_no_lock = error != nullptr && (error->reason.code == errc::wrong_type ||
                                                 error->reason.code == errc::corrupt_store);
    if (state == nullptr && !is_no_lock) return false;
    moved.erase(moved.begin());
    if (state == nullptr || !*state) return true;
    const bool in_use = !((*state)->holders.empty() && (*state)->waiters.empty());
    if (in_use || idle) found.insert_or_assign((*state)->name, store::summary_of(**state));
    return true;
  }
};

}  // namespace holdfast::redis
