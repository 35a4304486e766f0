// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/failure.hpp"
#include "stores/doctor/examination.hpp"
#include "stores/doctor/succession.hpp"
#include "stores/redis/link/settings.hpp"
#include "stores/redis/protocol/resp.hpp"
#include "stores/redis/protocol/server_address.hpp"

namespace holdfast::redis {

/// What a server says of itself.
struct server_answers {
  server_address at;
  doctor::facts said;
  std::vector<finding> findings;
  std::optional<value> set;  // the reply to GET of quorum_key, of one of several servers
  std::chrono::microseconds clock_ahead{};
};

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

/// Asks the servers of a URL about themselves, over connections of its own. Blocks.
/// \param longest_ttl in use, with its grace.
/// \throws connection_error if no server is left that could grant anything; holdfast::error for certificates
/// that cannot be read.
[[nodiscard]] doctor::report diagnose(const settings& of, std::chrono::nanoseconds longest_ttl);

/// What the Sentinels say of a primary together, for `primary_conditions`.
[[nodiscard]] doctor::facts conclude(const std::vector<sentinel_answers>& all, const settings& in);
/// The primary that most of them name; empty: none names one.
[[nodiscard]] std::optional<server_address> named_by_most(const std::vector<sentinel_answers>& all);

/// Holds what the servers of a set have said to the conditions that concern more than one of them.
/// \param answers of those that answered, one at least.
[[nodiscard]] std::vector<finding> findings_of_set(const settings& in,
                                                   const std::vector<server_answers>& answers);

}  // namespace holdfast::redis
