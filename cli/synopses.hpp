#pragma once

#include <vector>

#include <CLI/App.hpp>

#include "commands/completion.hpp"

namespace holdfast::cli {

/// What completion scripts need to know of the subcommands that are shown to users.
[[nodiscard]] std::vector<command_synopsis> synopses_of(const CLI::App& app);

}  // namespace holdfast::cli
