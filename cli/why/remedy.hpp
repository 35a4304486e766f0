// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "why/wait_graph.hpp"

namespace holdfast::cli {

/// Of the holds of a deadlock, the youngest one whose end leaves no deadlock among its members: it has done
/// the least. Not every hold is one: of a name that no member waits for, say, or of two readers that both
/// keep a writer waiting.
/// \param graph the one with these members.
/// \param attempts how many holds may be tried, each of which costs a look at the whole graph; less those
/// that were tried.
/// \return null: no single hold that can be ended by its token ends the deadlock, or none that was tried.
[[nodiscard]] const claim_on* hold_to_end(const wait_graph& graph, const std::vector<const party*>& members,
                                          std::size_t& attempts);

/// The command that ends a hold by force, for a shell.
/// \param options as store_options() returns them.
/// \return empty: the name, or an option, has characters that do not show, and could not be copied.
[[nodiscard]] std::optional<std::string> release_command_of(const claim_on& hold, const std::string& options);

}  // namespace holdfast::cli
