// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/results.hpp"
#include "stores/zookeeper/protocol/layout.hpp"
#include "stores/zookeeper/protocol/wire.hpp"

namespace holdfast::zookeeper {

/// One claim on a name, of Holdfast or another library: one node, or the nodes of its permits.
struct claimed {
  contender place;
  std::vector<std::string> nodes;  // paths
  status about;
  std::string data;
};

/// The state of a name, from its nodes: the holders and the waiters, as every recipe decides it.
struct survey {
  bool ours = false;            // the name was used with this library
  std::int64_t last_child = 0;  // the last coming or going of a claim
  std::int64_t capacity = 0;    // of a semaphore that has holders
  /// The numbers do not tell who holds. Until `fill` has read the nodes, `holders` are all contenders.
  bool has_open_order = false;
  std::vector<claimed> holders;
  std::vector<claimed> waiters;
  /// The reads show no single moment. Between two of them permits were given back, and others may hold them
  /// by now; or a writer in an open order went, and may have been replaced by its reader.
  bool is_torn = false;
  std::size_t waiters_read =
      0;  // how many of the first waiters were read; of the others only the place is known
};

// Pure functions. Below, `base` is the path of a name.

/// The first reads of a survey, sent together: the name's node, its contenders, its leases, the contenders
/// for leases, and the data of the leases' node.
[[nodiscard]] std::vector<operation> reads_of(const std::string& base);
/// Finds the claims by the names of the children.
/// \param reads the results of `reads_of`, none of which is an error.
[[nodiscard]] survey survey_of(layout style, const std::string& base, const std::vector<result>& reads);

/// The reads of the claims' own nodes: those of all holders and of the first `waiters` waiters.
[[nodiscard]] std::vector<operation> claim_reads_of(const survey& name, std::size_t waiters);
/// Takes the results. Claims that are gone by then are left out.
/// \param reads the results of `claim_reads_of` with the same `waiters`, none of which is an error.
void fill(survey& name, std::size_t waiters, const std::vector<result>& reads);

/// Decides by the node's data, or by its name if others have written into the node (as Curator's Revoker
/// does).
[[nodiscard]] bool is_ours(const claimed& c);
[[nodiscard]] fencing_token token_of(const claimed& c);
/// The data that asks a holder to release; empty where the holder has no means to hear it: kazoo's locks, and
/// Curator's latches and semaphores, for which the data has another meaning.
[[nodiscard]] std::optional<std::string> data_that_asks(const claimed& holder, std::string_view reason);

/// The state for `client::inspect`.
/// \param most the longest time until a dead holder is noticed.
[[nodiscard]] lock_state state_of(const survey& all, const std::string& name, duration most);

}  // namespace holdfast::zookeeper
