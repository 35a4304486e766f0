// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>

#include "output/json.hpp"
#include "serve/exchange.hpp"
#include "serve/investigation_cache.hpp"
#include <holdfast/client.hpp>

namespace holdfast::cli {

[[nodiscard]] http_reply json_reply(const json& object);
/// With how long ago it was read.
[[nodiscard]] http_reply dated_reply(boot_clock::time_point taken_at, const json& found);
/// For an exception of the library, or another one.
[[nodiscard]] http_reply failure_reply(const std::exception& problem);

/// In place of the thread's end by an exception.
[[nodiscard]] http_reply answered(const std::function<http_reply()>& ask);

/// The questions below ask the store, and block meanwhile.

/// As `show NAME --json`, with the first thousand waiters.
[[nodiscard]] http_reply answer_lock(const client& locks, const std::string& name);
/// All queues, for the two below.
[[nodiscard]] investigation read_queues(const client& locks);
/// As `why NAME --json`, and how old the reading is. Asks for the name alone, and only if nobody waits for
/// it.
[[nodiscard]] http_reply answer_why(const client& locks, investigation_cache::dated last,
                                    const std::string& name);
/// As `why --all --json`, and how old the reading is. Asks nothing.
[[nodiscard]] http_reply answer_deadlocks(const investigation_cache::dated& last);

/// The token that the body of a request names; empty: it names none, or is none of a request.
[[nodiscard]] std::optional<fencing_token> token_named_in(const std::string& body);
/// `release --ask`. \param body `{"reason": "…"}`; a token may name one hold.
[[nodiscard]] http_reply answer_ask(const client& locks, const std::string& name, const std::string& body);
/// `release --force --token`. \param body `{"token": 7}`
[[nodiscard]] http_reply end_hold(const client& locks, const std::string& name, const std::string& body);

}  // namespace holdfast::cli
