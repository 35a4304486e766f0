// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace holdfast::test {

/// The environment in which libfaketime gives a program the wall clock that a file says. Not the monotonic
/// clock: it is the wall clock that somebody sets.
/// \param also another library that is to be loaded first.
[[nodiscard]] std::vector<std::string> faketime_environment(const std::string& file,
                                                            std::string_view also = {});
/// Writes such a file: from now on, so much from the real clock.
void set_faketime(const std::string& file, std::chrono::milliseconds ahead);
/// What libfaketime keeps of a process that runs: it has it open by now, and nobody else would remove it
/// after a kill.
void forget_faketime_files(::pid_t pid);

}  // namespace holdfast::test
