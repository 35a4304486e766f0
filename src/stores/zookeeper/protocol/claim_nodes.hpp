#pragma once

#include <string>
#include <vector>

#include "base/owner_id.hpp"
#include "core/request.hpp"
#include "stores/zookeeper/protocol/layout.hpp"
#include "stores/zookeeper/protocol/wire.hpp"

namespace holdfast::zookeeper {

// Translates between claims and their nodes. Pure functions.

[[nodiscard]] bool is_semaphore(const store::claim& of);

/// The data of a claim's nodes.
/// \param token zero, or the token that it keeps (see note).
[[nodiscard]] std::string data_of(const store::claim& of, fencing_token token = {});

[[nodiscard]] fencing_token token_of(const status& node);

[[nodiscard]] tickets::place place_of(fencing_token token, bool granted);

/// The error of a parent whose numbers are used up; a retry succeeds when the parent has been removed.
[[nodiscard]] store::request_error no_numbers_below(const std::string& parent);

/// The error of a session that ended, with all its nodes, before the claim was answered.
/// \param maybe_executed the claim may have been made.
[[nodiscard]] store::request_error session_ended(bool maybe_executed);

/// The error of a reply by which the node of a claim has a name that it cannot have.
[[nodiscard]] store::request_error misnamed(const result& creation);

/// The nodes among `children` with this guid.
[[nodiscard]] std::vector<contender> made_with(layout style, const owner_id& guid,
                                               const std::vector<std::string>& children);

/// How often a node is created again, because the servers have removed its new parent meanwhile.
inline constexpr int most_tries = 5;

}  // namespace holdfast::zookeeper
