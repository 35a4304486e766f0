// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "commands/completion.hpp"
#include "failure.hpp"
#include "subcommands.hpp"
#include "synopses.hpp"
#include <holdfast/client.hpp>

namespace holdfast::cli {

namespace {

/// Whether another program's command line follows `--`.
bool runs_a_command(std::string_view subcommand) {
  return subcommand == "run" || subcommand == "elect" || subcommand == "fence";
}

/// For an error that quotes them. One may be a URL with a secret, or the value of an option that does not
/// exist: `--password=SECRET`, `--password SECRET`.
std::vector<std::string> masked(std::vector<std::string> arguments) {
  bool is_secret = false;
  for (auto& argument : arguments) {
    const bool is_option = argument.starts_with("--") && argument.find('=') == argument.npos;
    const auto with_value = argument + "=x";
    argument = is_secret ? "***" : masked_url(argument);
    is_secret = !is_secret && is_option && masked_url(with_value) != with_value;
  }
  return arguments;
}

/// Prints less than CLI11, and handles a command line within a command line.
class formatter : public CLI::Formatter {
 public:
  formatter() {
    label("SUBCOMMAND", "COMMAND");
    column_width(30);
  }

  std::string make_usage(const CLI::App* command, std::string name) const override {
    if (!runs_a_command(command->get_name())) return CLI::Formatter::make_usage(command, name);
    return fmt::format("Usage: holdfast {} {} [OPTIONS] -- COMMAND [ARGUMENT]...\n", command->get_name(),
                       command->get_name() == "fence" ? "FILE" : "NAME");
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    const bool takes_value = !option->get_positional() && option->get_items_expected_max() > 0;
    return takes_value ? " " + option->get_type_name() : "";
  }
};

/// Parses a command line; the errors name the mistake.
class parser {
 public:
  parser() {
    app_.formatter(std::make_shared<formatter>());
    app_.require_subcommand(1);
    app_.set_version_flag("--version", version_text(), "Print the version and the stores of this build");
    app_.set_help_flag("-h,--help", "Explain this command");
    app_.footer(
        "The store is --store URL, else HOLDFAST_STORE, else a file of this user.\n"
        "'holdfast help COMMAND' and 'man holdfast' tell more.");
    commands_.add_to(app_);
  }

  any_command parse(std::vector<std::string> arguments) {
    put_subcommand_first(arguments);
    take_command_to_run(arguments);
    const auto first = arguments.empty() ? "" : arguments.front();
    std::ranges::reverse(arguments);  // CLI11 expects the reverse order
    try {
      app_.parse(arguments);
    } catch (const CLI::CallForHelp&) {
      return print_command{app_.help()};
    } catch (const CLI::CallForVersion&) {
      return print_command{version_text() + "\n"};
    } catch (const CLI::RequiredError& problem) {
      if (app_.get_subcommands().empty()) throw no_command(first);
      throw usage(problem.what());
    } catch (const CLI::ExtrasError& problem) {
      const auto name = app_.get_subcommands().front()->get_name();
      if (!runs_a_command(name) || !command_of(name).empty()) throw usage(unexpected());
      throw usage(fmt::format("put -- between the {} and the command to run",
                              name == "fence" ? "file" : "lock's name"));
    } catch (const CLI::ArgumentMismatch& problem) {
      const auto repeated = repeated_option();
      throw usage(repeated.empty() ? option_named_in(problem.what()) + " needs a value"
                                   : repeated + " is given more than once");
    } catch (const CLI::ParseError& problem) {
      throw usage(problem.what());
    }
    return chosen();
  }

 private:
  static std::string version_text() {
    return fmt::format("holdfast {} (stores: {})", version(), fmt::join(schemes(), ", "));
  }

  [[nodiscard]] failure usage(std::string message) const {
    const auto selected = app_.get_subcommands();
    const auto where = selected.empty() ? "" : " " + selected.front()->get_name();
    while (message.ends_with('\n') || message.ends_with('.')) message.pop_back();
    return {bad_usage, fmt::format("{}. Try 'holdfast{} --help'", message, where)};
  }

  /// An option that takes one value and was given several; empty where there is none.
  [[nodiscard]] std::string repeated_option() const {
    for (const auto* command : app_.get_subcommands()) {
      for (const auto* option : command->get_options()) {
        if (option->get_items_expected_max() == 1 && option->count() > 1) return option->get_name();
      }
    }
    return {};
  }

  /// `--wait`, of CLI11's `--wait: 1 required DURATION missing`.
  static std::string option_named_in(std::string_view message) {
    return std::string{message.substr(0, message.find(':'))};
  }

  /// In the order in which they were given.
  [[nodiscard]] std::string unexpected() const {
    const auto rest = masked(app_.remaining(true));
    return fmt::format("unexpected {}: {}", rest.size() == 1 ? "argument" : "arguments",
                       fmt::join(rest, " "));
  }

  [[nodiscard]] failure no_command(const std::string& argument) const {
    const bool is_option = argument.starts_with('-');
    if (is_option && app_.get_option_no_throw(argument) == nullptr && !is_of_every_store(argument))
      return usage(fmt::format("there is no option '{}'", masked_url(argument)));
    return usage(
        argument.empty() || is_option
            ? "no command is given: use run, elect, fence, leader, ls, show, why, doctor, top, wait, "
              "release, watch, serve, schema, bench or completion"
            : fmt::format("there is no command '{}'", masked_url(argument)));
  }

  /// Whether it is an option that all commands with a store have.
  static bool is_of_every_store(std::string_view argument) {
    const auto name = argument.substr(0, argument.find('='));
    return argument == "--json" || name == "--store" || name == "--password-file";
  }

  /// `holdfast --store URL ls` means `holdfast ls --store URL`, as with kubectl or etcdctl.
  static void put_subcommand_first(std::vector<std::string>& arguments) {
    auto each = arguments.begin();
    while (each != arguments.end()) {
      const bool takes_next = *each == "--store" || *each == "--password-file";
      if (takes_next && std::next(each) != arguments.end()) {
        each += 2;
      } else if (!takes_next && is_of_every_store(*each)) {
        ++each;
      } else {
        break;
      }
    }
    if (each != arguments.end() && !each->starts_with('-'))
      std::rotate(arguments.begin(), each, std::next(each));
  }

  [[nodiscard]] static bool takes_value(const CLI::App& command, const std::string& option_name) {
    const auto* option = command.get_option_no_throw(option_name);
    return option != nullptr && option->get_items_expected_max() > 0;
  }

  /// Whether the next argument is the value of this one. Of grouped short options, as in `-qE`, only the last
  /// may take it: after any other that takes a value, the rest of the argument is that value.
  [[nodiscard]] static bool takes_next(const CLI::App& command, const std::string& argument) {
    if (!argument.starts_with('-')) return false;
    if (argument.starts_with("--")) return takes_value(command, argument);
    const auto first = std::find_if(argument.begin() + 1, argument.end(),
                                    [&](char each) { return takes_value(command, {'-', each}); });
    return first != argument.end() && std::next(first) == argument.end();
  }

  /// Whether a name, or whatever is taken for one, is among the arguments between the subcommand and `end`.
  [[nodiscard]] bool has_positional(const std::vector<std::string>& arguments,
                                    std::vector<std::string>::const_iterator end) const {
    const CLI::App& command = *app_.get_subcommand(arguments.front());
    for (auto each = arguments.begin() + 1; each < end; ++each) {
      if (takes_next(command, *each)) {
        ++each;
      } else if (!each->starts_with('-')) {
        return true;
      }
    }
    return false;
  }

  /// Whether a name that begins with a dash stands between these dashes and others.
  [[nodiscard]] static bool is_before_name(std::vector<std::string>::const_iterator dashes,
                                           std::vector<std::string>::const_iterator end) {
    return end - dashes > 2 && (dashes + 1)->starts_with('-') && *(dashes + 2) == "--";
  }

  /// Arguments after `--` belong to another program and are not parsed. Before a name that begins with a
  /// dash, another `--` ends the options, as it does for all programs: `run -- -name -- command`. Any other
  /// name needs none: in `run -- nice -- command` it is missing.
  void take_command_to_run(std::vector<std::string>& arguments) {
    if (arguments.empty() || !runs_a_command(arguments.front())) return;
    auto dashes = std::ranges::find(arguments, "--");
    if (dashes == arguments.end()) return;
    if (is_before_name(dashes, arguments.end()) && !has_positional(arguments, dashes)) dashes += 2;
    command_of(arguments.front()).assign(dashes + 1, arguments.end());
    arguments.erase(dashes, arguments.end());
  }

  /// \param subcommand one that runs a command.
  std::vector<std::string>& command_of(std::string_view subcommand) {
    if (subcommand == "fence") return commands_.fence.command;
    return subcommand == "run" ? commands_.run.command : commands_.elect.command;
  }

  any_command chosen() {
    const auto name = app_.get_subcommands().front()->get_name();
    if (name == "run") return checked(commands_.run);
    if (name == "elect") return checked(commands_.elect);
    if (name == "fence") return checked(commands_.fence);
    if (name == "leader") return commands_.leader;
    if (name == "ls") return commands_.ls;
    if (name == "show") return commands_.show;
    if (name == "wait") return commands_.wait;
    if (name == "release") return commands_.release;
    if (name == "watch") return commands_.watch;
    if (name == "why") return commands_.explain;
    if (name == "doctor") return commands_.doctor;
    if (name == "top") return commands_.top;
    if (name == "serve") return commands_.serve;
    if (name == "schema") return commands_.schema;
    if (name == "bench") return commands_.bench;
    if (name == "__names") return commands_.names;
    if (name == "__contender") return commands_.contender;
    if (name == "completion") return print_command{completion_script(commands_.shell, synopses_of(app_))};
    return print_command{help_text()};
  }

  template <class Command>
  const Command& checked(const Command& request) const {
    if (request.command.empty()) throw usage("no command to run is given: put it behind --");
    return request;
  }

  std::string help_text() const {
    if (commands_.help_topic.empty())
      return parser{}.app_.help();  // app_.help() would explain the chosen subcommand "help"
    const auto topics = app_.get_subcommands(
        [this](const CLI::App* each) { return each->get_name() == commands_.help_topic; });
    if (topics.empty()) throw no_command(commands_.help_topic);
    return topics.front()->help("holdfast");
  }

  subcommands commands_;  // filled by the app, which therefore comes after it
  CLI::App app_{"Locks across processes, with fencing tokens", "holdfast"};
};

}  // namespace

any_command parse_command_line(std::vector<std::string> arguments) {
  return parser{}.parse(std::move(arguments));
}

bool asks_for_json(const std::vector<std::string>& arguments) {
  const auto own_end = std::ranges::find(arguments, "--");
  return std::find(arguments.begin(), own_end, "--json") != own_end;
}

}  // namespace holdfast::cli
