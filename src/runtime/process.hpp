// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace holdfast::runtime {

/// How many forks lie between the first process and this one: grows in every child. What was made under
/// another number belongs to an ancestor, and must not be touched: its threads are not here, its mutexes may
/// be locked for ever, its connections are in use by their owner.
[[nodiscard]] std::uint32_t process_generation() noexcept;

/// Whether the calling thread is one of this library's, which cannot wait for itself to end.
[[nodiscard]] bool is_own_thread() noexcept;
void mark_own_thread() noexcept;

}  // namespace holdfast::runtime
