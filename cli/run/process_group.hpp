// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <sys/types.h>

#include "descriptor.hpp"

namespace holdfast::cli {

/// A process of a group that runs, other than the group's leader.
struct group_member {
  pid_t pid = 0;
  /// Readable when the process has ended. None where the kernel has no such descriptors (before Linux 5.3).
  descriptor end;
};

/// Looks for one in /proc. Where /proc cannot be read, it finds none.
/// \param group one whose leader was not reaped yet, so that its number belongs to no other group.
[[nodiscard]] std::optional<group_member> other_member_of(pid_t group);

}  // namespace holdfast::cli
