// SPDX-License-Identifier: Apache-2.0
#include "synopses.hpp"

namespace holdfast::cli {

namespace {

command_synopsis synopsis_of(const CLI::App& command) {
  command_synopsis synopsis;
  synopsis.name = command.get_name();
  synopsis.help = command.get_description();
  for (const auto* option : command.get_options()) {
    if (option->get_positional()) {
      synopsis.takes_name = synopsis.takes_name || option->get_name() == "NAME";
      synopsis.takes_file = synopsis.takes_file || option->get_name() == "FILE";
      continue;
    }
    if (option->get_group().empty()) continue;  // hidden
    option_synopsis each{.flags = {}, .help = option->get_description(), .value = {}};
    for (const auto& flag : option->get_lnames()) each.flags.push_back("--" + flag);
    for (const auto& flag : option->get_snames()) each.flags.push_back("-" + flag);
    if (option->get_items_expected_max() > 0) each.value = option->get_type_name();
    synopsis.options.push_back(each);
  }
  return synopsis;
}

}  // namespace

std::vector<command_synopsis> synopses_of(const CLI::App& app) {
  std::vector<command_synopsis> all;
  for (const auto* command :
       app.get_subcommands([](const CLI::App* each) { return each->get_group() != ""; })) {
    all.push_back(synopsis_of(*command));
  }
  for (auto& command : all) {
    if (command.name == "bench") command.choices = {"pair", "term", "spread", "handoff", "idle", "held"};
    if (command.name == "completion") command.choices = {"bash", "zsh", "fish"};
    if (command.name == "help") {
      for (const auto& other : all) command.choices.push_back(other.name);
    }
  }
  return all;
}

}  // namespace holdfast::cli
