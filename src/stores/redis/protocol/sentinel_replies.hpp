// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stores/redis/protocol/resp.hpp"
#include "stores/redis/protocol/server_address.hpp"

namespace holdfast::redis {

/// No reply of a Sentinel that is longer is read.
inline constexpr std::size_t longest_sentinel_reply = std::size_t{4} * 1024 * 1024;

/// Appends the question where a primary is.
void append_address_question(std::string& out, std::string_view primary);
/// Reads its reply. Empty: the Sentinel does not know the name.
/// \throws misunderstood for anything but a list of a host and a port.
[[nodiscard]] std::optional<server_address> primary_address_in(const value& reply);

/// Reads the reply to the question which primaries a Sentinel monitors: the first names, without those that
/// no URL can have. None for an error, which an ACL causes, and for any other reply.
[[nodiscard]] std::vector<std::string> primary_names_in(const value& reply);
/// "a, b, c"
[[nodiscard]] std::string listed(const std::vector<std::string>& names);

/// The channel on which a Sentinel announces that a primary has another address.
inline constexpr std::string_view switch_channel = "+switch-master";
/// The channel on which the Sentinel that fails over announces the same some time before: it still waits for
/// the other replicas, while the former primary, if it lives, accepts writes that will be discarded.
inline constexpr std::string_view promotion_channel = "+failover-state-reconf-slaves";
/// Whether a push is a message on one of them about this primary.
[[nodiscard]] bool announces_switch(const value& push, std::string_view primary);

/// Whether Sentinel's primaries can have that name, and a URL can contain it.
[[nodiscard]] bool is_primary_name(std::string_view name);

}  // namespace holdfast::redis
