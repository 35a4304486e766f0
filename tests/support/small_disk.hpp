// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "support/server_user.hpp"

namespace holdfast::test {

/// Why a program cannot have a small disk here; nothing: it can.
[[nodiscard]] std::optional<std::string> no_small_disk();

/// The arguments before those of a program that is to see a small disk, empty, at `folder`, which only it
/// sees, and to run as that user. They are for root.
[[nodiscard]] std::vector<std::string> on_small_disk(int kib, const server_user& user,
                                                     const std::string& folder);

/// Takes all room that is left on the disk of a program that runs so, in a file beside its own.
void fill_small_disk(::pid_t program, const std::string& folder);
/// Gives it back. Not as an administrator would by a statement: a server may keep that waiting for room.
void clear_small_disk(::pid_t program, const std::string& folder);

}  // namespace holdfast::test
