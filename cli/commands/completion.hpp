// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

/// The data of one option for completion.
struct option_synopsis {
  std::vector<std::string> flags;  ///< `--store`
  std::string help;
  std::string value;  ///< `URL`, `FILE`, `DURATION` …; empty for plain flags
};

/// The data of one subcommand for completion.
struct command_synopsis {
  std::string name;
  std::string help;
  std::vector<option_synopsis> options;
  bool takes_name = false;           ///< a lock's name comes next
  bool takes_file = false;           ///< or the path of a file
  std::vector<std::string> choices;  ///< or one of these words
};

/// The script for one shell, made from the same description that parses the command line.
/// \throws failure for a shell that is not bash, zsh or fish.
[[nodiscard]] std::string completion_script(std::string_view shell,
                                            const std::vector<command_synopsis>& commands);

}  // namespace holdfast::cli
