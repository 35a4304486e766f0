#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/request.hpp"
#include "stores/redis/protocol/listing.hpp"
#include "stores/redis/protocol/server_address.hpp"

namespace holdfast::redis {

/// The state of the listing of a cluster: one server after another, then the names that moved meanwhile.
struct cluster_listing final : tickets::listing_state {
  std::vector<server_address> servers;        // all that have slots
  std::vector<server_address> left;           // of them
  std::shared_ptr<listing> current;           // of the last of `left`
  std::map<std::string, lock_summary> found;  // by name: one that moves may be found twice
  std::set<std::string> moved;                // names

  [[nodiscard]] std::vector<lock_summary> summaries() const {
    std::vector<lock_summary> all;
    for (const auto& [name, summary] : found) all.push_back(summary);
    return all;
  }
};

}  // namespace holdfast::redis
