#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stores/doctor/examination.hpp"
#include "stores/redis/link/settings.hpp"
#include "stores/redis/link/stream.hpp"
#include "stores/redis/protocol/server_address.hpp"
#include "stores/redis/protocol/slot_map.hpp"
#include "stores/redis/protocol/value.hpp"

namespace holdfast::redis {

/// What a server says of itself.
struct server_answers {
  server_address at;
  doctor::facts said;
  std::vector<finding> findings;
  std::optional<value> set;  // the reply to GET of quorum_key, of one of several servers
  std::chrono::microseconds clock_ahead{};
};

/// Asks a server about itself. Changes nothing there. Blocks.
/// \param has_failover others may promote a replica. \param longest_ttl in use, with its grace.
/// \param secure null: no TLS. \throws connection_error.
[[nodiscard]] server_answers ask_server(const settings& in, const server_address& at, bool has_failover,
                                        std::chrono::milliseconds longest_ttl, const tls_context* secure,
                                        int stop);

/// What is concluded from INFO, CONFIG GET, the marker of the guard and the URL, beside what is there: how
/// long the server still grants nothing new, and what a guard has to cover.
/// \param now by the server's clock.
void conclude(doctor::facts& of, const settings& in, bool has_failover, std::chrono::milliseconds longest_ttl,
              std::string_view guard_marker, std::chrono::milliseconds now);

/// What a Sentinel says of a primary.
struct sentinel_answers {
  std::string place;
  failure problem;                        // why it does not answer; an empty message: it does
  std::optional<server_address> primary;  // empty: it does not know the name
  value check;                            // whether a failover could be decided
  [[nodiscard]] const char* verdict() const {
    if (check.is(value::kind::text)) return "able";
    return check.text.starts_with("NOQUORUM") ? "unable" : "refused";
  }
};
[[nodiscard]] sentinel_answers ask_sentinel(const settings& in, const server_address& at,
                                            const tls_context* secure, int stop);

/// \throws connection_error, also if the node knows of no slot.
[[nodiscard]] slot_map ask_slots(const settings& in, const server_address& node, const tls_context* secure,
                                 int stop);

}  // namespace holdfast::redis
