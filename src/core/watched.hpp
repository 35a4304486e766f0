// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace holdfast::store {

/// What is watched: one name, or, empty, all names.
using watched = std::optional<std::string>;

}  // namespace holdfast::store
