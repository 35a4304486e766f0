// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/url.hpp"
#include "stores/sql/link/link.hpp"

namespace holdfast::stores {

/// The options of database servers that say how long claims and connections live: `mode`, `session_timeout`,
/// and `answer_timeout`.
/// \throws errc::invalid_url.
void take_mode(store_url& url, sql::link_settings& s);

/// Those that say how clients learn of grants: `notify` and `poll`. After `take_mode`.
/// \param question of the store, for clients that poll.
/// \throws errc::invalid_url.
void take_notify(store_url& url, sql::link_settings& s, sql::poll_maker question);

}  // namespace holdfast::stores
