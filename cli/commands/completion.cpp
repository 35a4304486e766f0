// SPDX-License-Identifier: Apache-2.0
#include "commands/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

#include "failure.hpp"
#include "output/shell.hpp"

namespace holdfast::cli {

namespace {

using synopses = std::vector<command_synopsis>;

std::string words(const synopses& commands) {
  std::vector<std::string> names;
  for (const auto& command : commands) names.push_back(command.name);
  return fmt::format("{}", fmt::join(names, " "));
}

std::string flags_of(const command_synopsis& command) {
  std::vector<std::string> flags;
  for (const auto& option : command.options) {
    flags.insert(flags.end(), option.flags.begin(), option.flags.end());
  }
  return fmt::format("{}", fmt::join(flags, " "));
}

// Names of locks are data of other users: nothing may expand them, as compgen -W does, and they are quoted on
// the line.
constexpr std::string_view bash_head = R"sh(# bash completion for holdfast
_holdfast_offer_names() {
  local name i quote before typed
  local -a line store=()
  # COMP_WORDS has URLs in pieces, split at their colons.
  read -ra line <<<"${COMP_LINE:0:COMP_POINT}"
  for ((i = 1; i < ${#line[@]}; i++)); do
    case ${line[i]} in
      --) break ;;
      --store | --password-file) store+=("${line[i]}" "${line[i + 1]}") ;;
      --store=* | --password-file=*) store+=("${line[i]}") ;;
    esac
  done
  _holdfast_read_word || return
  while IFS= read -r name; do
    [[ $name == "$typed"* ]] && _holdfast_offer "$name"
  done < <("${COMP_WORDS[0]}" __names "${store[@]}" 2>/dev/null)
}

# What has been typed of a name, without its quoting, and what of that stands before the word for readline,
# which splits words at their colons.
_holdfast_read_word() {
  quote= before= typed=$current
  local line=${COMP_LINE:0:COMP_POINT}
  local word=${line##*[[:space:]]}
  case $current in
    [\'\"]*)
      [[ -z $line || ${line%"$current"} == *[[:space:]] ]] || return # a quote within a word
      quote=${current:0:1} typed=${current:1}
      ;;
    *)
      if [[ $COMP_WORDBREAKS == *:* && $word == *:* ]]; then
        # Where there are quotes as well, readline's pieces do not say where the name begins.
        [[ $word == *[\\\'\"]* || ${line%"$word"} == *\\[[:space:]] ]] && return 1
        typed=$word before=${word%"${word##*:}"}
      fi
      ;;
  esac
  [[ $quote == \' ]] || typed=${typed//\\/}
}

# Puts a name on the line in the quotes that are open there.
_holdfast_offer() {
  local name=$1
  case $quote in
    \') [[ $name == *\'* ]] || COMPREPLY+=("$name") ;;
    \")
      [[ $name == *!* ]] && return # of the history, which cannot be quoted there
      name=${name//\\/\\\\} name=${name//\"/\\\"} name=${name//\$/\\\$} name=${name//\`/\\\`}
      COMPREPLY+=("$name")
      ;;
    *)
      printf -v name '%q' "$name"
      [[ $name == "$before"* ]] && COMPREPLY+=("${name#"$before"}")
      ;;
  esac
}

_holdfast() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} i
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
)sh";

/// Of all commands, `--wait|--ttl|…`, as a pattern of the shell's.
/// \param are_files those whose value is a file; else the others.
std::string flags_with_values(const synopses& commands, bool are_files) {
  std::set<std::string> flags;
  for (const auto& command : commands) {
    for (const auto& option : command.options) {
      if (!option.value.empty() && (option.value == "FILE") == are_files) {
        flags.insert(option.flags.begin(), option.flags.end());
      }
    }
  }
  return fmt::format("{}", fmt::join(flags, "|"));
}

std::string bash_case(const command_synopsis& command) {
  auto text = fmt::format("    {})\n", command.name);
  text += fmt::format("      if [[ $current == -* ]]; then COMPREPLY=($(compgen -W {} -- \"$current\"))\n",
                      in_shell(flags_of(command)));
  if (command.takes_name) text += "      else _holdfast_offer_names\n";
  if (command.takes_file) text += "      else COMPREPLY=($(compgen -f -- \"$current\"))\n";
  if (!command.choices.empty()) {
    text += fmt::format("      else COMPREPLY=($(compgen -W {} -- \"$current\"))\n",
                        in_shell(fmt::format("{}", fmt::join(command.choices, " "))));
  }
  return text + "      fi ;;\n";
}

std::string bash_script(const synopses& commands) {
  std::string text{bash_head};
  text += fmt::format("    COMPREPLY=($(compgen -W {} -- \"$current\"))\n    return\n  fi\n",
                      in_shell(words(commands) + " --help --version"));
  text += R"sh(  for ((i = 2; i < COMP_CWORD; i++)); do
    # Behind the -- stands another command, with a completion of its own.
    if [[ ${COMP_WORDS[1]} == @(run|elect|fence) && ${COMP_WORDS[i]} == -- ]]; then
      if declare -F _command_offset >/dev/null; then _command_offset $((i + 1)); fi
      return
    fi
  done
)sh";
  text += fmt::format("  case $previous in {}) COMPREPLY=($(compgen -f -- \"$current\")); return ;; esac\n",
                      flags_with_values(commands, true));
  text += fmt::format("  case $previous in {}) return ;; esac  # a value, and no name\n",
                      flags_with_values(commands, false));
  text += "  case ${COMP_WORDS[1]} in\n";
  for (const auto& command : commands) text += bash_case(command);
  return text + "  esac\n}\n\ncomplete -o bashdefault -F _holdfast holdfast\n";
}

/// Without what separates the parts of an option in zsh.
std::string zsh_text(std::string_view plain) {
  std::string text;
  for (const char c : plain) {
    if (c == '[' || c == ']' || c == ':') text += '\\';
    text += c;
  }
  return text;
}

/// `'--store[which store]:URL: '`
std::string zsh_option(const option_synopsis& option, const std::string& flag) {
  auto text = fmt::format("{}[{}]", flag, zsh_text(option.help));
  if (option.value == "FILE")
    text += ":file:_files";
  else if (!option.value.empty())
    text += fmt::format(":{}: ", zsh_text(option.value));
  return in_shell(text);
}

std::string zsh_case(const command_synopsis& command) {
  auto text = fmt::format("    {})\n      _arguments -s", command.name);
  for (const auto& option : command.options) {
    for (const auto& flag : option.flags) text += " \\\n        " + zsh_option(option, flag);
  }
  if (command.takes_name) text += " \\\n        '1:lock:_holdfast_names'";
  if (!command.choices.empty()) {
    text += fmt::format(" \\\n        '1:choice:({})'", fmt::join(command.choices, " "));
  }
  if (command.takes_file) text += " \\\n        '1:file:_files'";
  if (command.name == "run" || command.name == "elect" || command.name == "fence")
    text += " \\\n        '*::command:_normal'";
  return text + " ;;\n";
}

std::string zsh_script(const synopses& commands) {
  std::string text = R"sh(#compdef holdfast
_holdfast_names() {
  local -a names store
  local -i i
  for ((i = 1; i < CURRENT; i++)); do
    case $words[i] in
      --) break ;;
      --store|--password-file) store+=($words[i] ${(Q)words[i+1]}) ;;
      --store=*|--password-file=*) store+=(${(Q)words[i]}) ;;
    esac
  done
  names=("${(@f)$(holdfast __names $store 2>/dev/null)}")
  compadd -a names
}

_holdfast() {
  local -a commands
  if ((CURRENT == 2)); then
    commands=(
)sh";
  for (const auto& command : commands) {
    text += fmt::format("      {}\n", in_shell(command.name + ":" + command.help));
  }
  text += R"sh(    )
    _describe command commands
    return
  fi
  shift words
  ((CURRENT--))
  case $words[1] in
)sh";
  for (const auto& command : commands) text += zsh_case(command);
  return text +
         "  esac\n}\n\nif [[ $funcstack[1] == _holdfast ]]; then _holdfast \"$@\"; "
         "else compdef _holdfast holdfast; fi\n";
}

std::string fish_lines(const command_synopsis& command) {
  const auto here = fmt::format("complete -c holdfast -n '__fish_seen_subcommand_from {}'", command.name);
  auto text = fmt::format("complete -c holdfast -n __fish_use_subcommand -f -a {} -d {}\n", command.name,
                          in_shell(command.help));
  for (const auto& option : command.options) {
    for (const auto& flag : option.flags) {
      const bool is_long = flag.starts_with("--");
      text += fmt::format("{} {} {} -d {}", here, is_long ? "-l" : "-s", flag.substr(is_long ? 2 : 1),
                          in_shell(option.help));
      if (option.value == "FILE")
        text += " -r -F";
      else if (!option.value.empty())
        text += " -x";
      text += '\n';
    }
  }
  if (command.takes_name) text += here + " -f -a '(holdfast __names (__holdfast_store) 2>/dev/null)'\n";
  if (!command.choices.empty()) {
    text += fmt::format("{} -f -a {}\n", here, in_shell(fmt::format("{}", fmt::join(command.choices, " "))));
  }
  return text;
}

std::string fish_script(const synopses& commands) {
  std::string text = R"sh(# fish completion for holdfast
function __holdfast_store
  set -l line (commandline -opc)
  for i in (seq 2 (count $line))
    switch $line[$i]
      case --
        break
      case --store --password-file
        set -l next (math $i + 1)
        test $next -le (count $line); and printf '%s\n' $line[$i] $line[$next]
      case '--store=*' '--password-file=*'
        printf '%s\n' $line[$i]
    end
  end
end
)sh";
  for (const auto& command : commands) text += fish_lines(command);
  return text;
}

}  // namespace

std::string completion_script(std::string_view shell, const synopses& commands) {
  if (shell == "bash") return bash_script(commands);
  if (shell == "zsh") return zsh_script(commands);
  if (shell == "fish") return fish_script(commands);
  throw failure{bad_usage, fmt::format("there is no completion for '{}': use bash, zsh or fish", shell)};
}

}  // namespace holdfast::cli
