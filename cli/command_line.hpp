// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "bench/bench.hpp"
#include "commands/doctor.hpp"
#include "commands/elect.hpp"
#include "commands/fence.hpp"
#include "commands/leader.hpp"
#include "commands/ls.hpp"
#include "commands/release.hpp"
#include "commands/run.hpp"
#include "commands/schema.hpp"
#include "commands/serve.hpp"
#include "commands/show.hpp"
#include "commands/top.hpp"
#include "commands/wait.hpp"
#include "commands/watch.hpp"
#include "commands/why.hpp"

namespace holdfast::cli {

/// Text to print without further work: a help text, a version, a completion script.
struct print_command {
  std::string text;
};

using any_command =
    std::variant<run_command, elect_command, fence_command, leader_command, ls_command, names_command,
                 show_command, wait_command, release_command, watch_command, why_command, doctor_command,
                 top_command, serve_command, schema_command, bench_command, contender_command, print_command>;

/// Parses the arguments, without the program's name.
/// \throws failure that names the mistake.
[[nodiscard]] any_command parse_command_line(std::vector<std::string> arguments);

/// Whether --json is among them; also of a command line that cannot be parsed.
[[nodiscard]] bool asks_for_json(const std::vector<std::string>& arguments);

}  // namespace holdfast::cli
