// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "stores/redis/link/settings.hpp"

namespace holdfast::redis {

/// Loads a library of functions into the server of a URL, the primary that its Sentinels name, or each
/// primary of its cluster. Blocks.
/// \param library begins with a line "#!lua name=…" and a comment of "-- Holdfast".
/// \param stop an eventfd: gives up as soon as it can be read.
/// \return whether it was missing or different. \throws runtime::connection_error, holdfast::error.
[[nodiscard]] bool provide_library(const settings& in, std::string_view library, int stop);

}  // namespace holdfast::redis
