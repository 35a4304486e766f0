#pragma once

#include <string>
#include <vector>

#include "base/owner_id.hpp"
#include "core/request.hpp"
#include "stores/zookeeper/protocol/layout.hpp"
#include "stores/zookeeper/protocol/wire.hpp"

namespace holdfast::zookeeper {

// What a claim is in nodes, and the reverse. Pure functions.

[[nodiscard]] bool is_semaphore(const tickets::request& request);

/// What its nodes hold.
/// \param token zero, or the one that it keeps (see note).
[[nodiscard]] std::string data_of(const tickets::request& request, fencing_token token = {});

[[nodiscard]] fencing_token token_of(const status& node);

[[nodiscard]] tickets::place place_of(fencing_token token, bool granted);

/// Of a parent that cannot count on; that passes when it has been removed.
[[nodiscard]] store::trouble no_numbers_below(const std::string& parent);

/// The session, and all nodes of it, ended before the claim was answered.
/// \param unknown the claim may have been made.
[[nodiscard]] store::trouble session_ended(bool unknown);

/// Those among `children` that bear a guid.
[[nodiscard]] std::vector<contender> made_with(layout style, const owner_id& guid,
                                               const std::vector<std::string>& children);

/// Parents may be swept between their making and that of what they are for; not for ever.
inline constexpr int most_tries = 5;

}  // namespace holdfast::zookeeper
