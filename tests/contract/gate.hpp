// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "contract/stores.hpp"

namespace holdfast::contract {

/// Whether the tests of this fixture run on such a store. With HOLDFAST_TESTS=all in the environment they all
/// do.
[[nodiscard]] bool runs_on(const store_kind& kind, std::string_view fixture);
/// Whether the tests of both flavours run in the asynchronous one, too.
[[nodiscard]] bool runs_async_on(const store_kind& kind);

}  // namespace holdfast::contract
