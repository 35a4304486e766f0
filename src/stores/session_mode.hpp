#pragma once

#include "base/url.hpp"
#include "stores/sql/link/link.hpp"

namespace holdfast::stores {

/// The options of database servers that say how long claims and connections live: `mode`, `session_timeout`,
/// and `answer_timeout`.
/// \throws errc::invalid_url.
void take_mode(store_url& url, sql::link_settings& s);

}  // namespace holdfast::stores
