// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "stores/redis/protocol/resp.hpp"

namespace holdfast::sim {

/// On one line, as redis-cli would show it: (nil), 12, "text", -ERR ..., [1, "b"], >["message", ...]
[[nodiscard]] std::string describe(const redis::value& v);
[[nodiscard]] std::string quoted(const std::string& bytes);

/// What stands in no order, in one: items that are compared as a set.
void sort_items(redis::value& v);

/// In kind, number, text and items.
/// \param slack by how much numbers may differ: for times.
[[nodiscard]] bool same(const redis::value& a, const redis::value& b, std::int64_t slack = 0);

}  // namespace holdfast::sim
