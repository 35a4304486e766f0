// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "output/json.hpp"
#include "why/wait_graph.hpp"
#include <holdfast/client.hpp>

namespace holdfast::cli {

/// So many waiters of a name are read: on ZooKeeper each costs a read.
inline constexpr std::size_t most_waiters_read = 1000;

/// The processes that wait for one another, and what ends that.
struct deadlock {
  std::vector<const party*> members;
  const claim_on* hold_to_end = nullptr;  // one of theirs; null: no single one ends it
};

/// What was found in a store. The deadlocks point into the confirmed graph. Copies share the graphs.
struct investigation {
  std::shared_ptr<const wait_graph> graph;      // of all queues
  std::shared_ptr<const wait_graph> confirmed;  // of what stood in two observations
  std::vector<deadlock> deadlocks;
  std::string store_options{};  // with which a command reaches the store; see store_options()
};

/// Told while queues are read: how many, and of how many.
using reading_progress = std::function<void(std::size_t done, std::size_t all)>;

/// Reads all queues of a store.
/// \param name one whose holders are wanted although nobody waits; or empty.
/// \throws holdfast::error as client::list and client::inspect.
[[nodiscard]] investigation investigate(const client& locks, const std::string& name,
                                        const reading_progress& progress);
/// Reads a name, too, if nobody waited for it when the queues were read.
/// \throws holdfast::error as client::inspect.
void include_name(investigation& found, const client& locks, const std::string& name);
/// The name, and the names that its holders wait for, and so on: each once.
[[nodiscard]] std::vector<const lock_state*> chain_from(const wait_graph& graph, const std::string& name);
/// Of a name, the deadlocks that it leads to; the others are of no use to whoever asks for it.
void keep_those_reached(investigation& found, const std::string& name);

/// What `why NAME --json` prints.
[[nodiscard]] json describe_chain(const investigation& found, const std::string& name);
/// What `why --all --json` prints.
[[nodiscard]] json describe_deadlocks(const investigation& found);

}  // namespace holdfast::cli
