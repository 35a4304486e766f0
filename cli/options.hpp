// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <CLI/App.hpp>

#include "failure.hpp"
#include "store.hpp"
#include <holdfast/error.hpp>

namespace holdfast::cli {

/// The options that several subcommands share. Each refers to its variable until the command line is parsed.

/// --store, --password-file and --json. \return the first of them.
CLI::Option* add_store(CLI::App* command, store_choice& store);

void add_name(CLI::App* command, std::string& name, const std::string& help, bool required = true);

/// An option with a name, which may come several times.
void add_other_names(CLI::App* command, const std::string& flag, const std::string& help,
                     const std::function<void(const std::string&)>& take);

/// \param value the name of the value in the help text.
void add_text(CLI::App* command, const std::string& flag, const std::string& value, const std::string& help,
              const std::function<void(const std::string&)>& take);
void add_duration(CLI::App* command, const std::string& flag, std::optional<duration>& into,
                  const std::string& help);
void add_ttl(CLI::App* command, std::optional<duration>& into, const std::string& help);
void add_grace(CLI::App* command, std::optional<duration>& into, const std::string& help);
void add_at_least(CLI::App* command, std::optional<duration>& into, const std::string& help);
/// --label
void add_label(CLI::App* command, std::string& into);
/// --on-request
void add_on_request(CLI::App* command, std::optional<int>& into);
/// A number above 0.
void add_number(CLI::App* command, const std::string& flag, std::optional<std::int64_t>& into,
                const std::string& help);
/// An exit status.
void add_status(CLI::App* command, const std::string& flag, int& into, const std::string& help);

/// Refuses an empty URL, which may come from an unset variable of a script.
/// \return the complaint, or an empty text.
[[nodiscard]] std::string no_empty_url(const std::string& url);

/// The library checks the values; this translates its message to the command's options.
template <class Attempt>
void check(Attempt attempt, const std::string& complaint) {
  try {
    attempt();
  } catch (const error&) {
    throw failure{bad_usage, complaint};
  }
}

}  // namespace holdfast::cli
