#pragma once

#include "stores/redis/link/settings.hpp"
#include "stores/redis/link/stream.hpp"
#include "stores/redis/protocol/sentinel_findings.hpp"
#include "stores/redis/protocol/server_facts.hpp"

namespace holdfast::redis {

/// Asks a server about itself. Changes nothing there. Blocks.
/// \param secure null: no TLS. \throws connection_error, parser::garbage.
[[nodiscard]] server_facts facts_of(const settings& in, const server_address& at, const tls_context* secure,
                                    int stop);

/// Asks a Sentinel about the primary and the other Sentinels. Likewise.
/// \throws connection_error, parser::garbage; misunderstood for an answer that is the address of no server.
[[nodiscard]] sentinel_facts facts_of_sentinel(const settings& in, const server_address& at,
                                               const tls_context* secure, int stop);

}  // namespace holdfast::redis
