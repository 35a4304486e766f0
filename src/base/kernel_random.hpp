// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace holdfast {

/// Fills it with unpredictable bits of the kernel. \throws error errc::exhausted.
void fill_randomly(std::span<std::byte> bytes);

}  // namespace holdfast
