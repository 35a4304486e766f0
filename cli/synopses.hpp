// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <CLI/App.hpp>

#include "commands/completion.hpp"

namespace holdfast::cli {

/// The subcommands that users see, as completion scripts need them.
[[nodiscard]] std::vector<command_synopsis> synopses_of(const CLI::App& app);

}  // namespace holdfast::cli
