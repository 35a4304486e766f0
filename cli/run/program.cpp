// SPDX-License-Identifier: Apache-2.0
#include "run/program.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "failure.hpp"
#include "output/text.hpp"
#include <holdfast/client.hpp>

namespace holdfast::cli {

namespace {

enum class finding { executable, not_executable, nothing };

finding look_at(const std::string& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) {
    return errno == EACCES ? finding::not_executable : finding::nothing;
  }
  const bool runs = S_ISREG(found.st_mode) && ::access(path.c_str(), X_OK) == 0;
  return runs ? finding::executable : finding::not_executable;
}

failure cannot_execute(const std::string& path) {
  struct stat found{};
  const bool folder = ::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
  return {not_executable, fmt::format("cannot execute '{}': {}", path,
                                      folder ? "it is a folder"
                                             : "permission denied. 'chmod +x' makes a program executable")};
}

std::string from_search_path(const std::string& command) {
  const char* set = std::getenv("PATH");
  std::string_view folders = set == nullptr ? "/usr/local/bin:/usr/bin:/bin" : set;
  std::string blocked;
  for (bool more = true; more;) {
    const auto colon = folders.find(':');
    const auto folder = folders.substr(0, colon);
    const auto candidate = fmt::format("{}/{}", folder.empty() ? "." : folder, command);
    const auto found = look_at(candidate);
    if (found == finding::executable) return candidate;
    if (found == finding::not_executable) blocked = candidate;
    more = colon != folders.npos;
    if (more) folders.remove_prefix(colon + 1);
  }
  if (!blocked.empty()) throw cannot_execute(blocked);
  throw failure{not_found, fmt::format("there is no command '{}' in PATH", command)};
}

std::string locate(const std::string& command) {
  if (command.find('/') == command.npos && !command.empty()) return from_search_path(command);
  switch (look_at(command)) {
    case finding::executable: return command;
    case finding::not_executable: throw cannot_execute(command);
    case finding::nothing: break;
  }
  throw failure{not_found, fmt::format("there is no command '{}'", command)};
}

/// The password; and what a `holdfast run` around this one has set, which would be taken for ours.
bool is_left_out(std::string_view variable) {
  if (variable == "HOLDFAST_PASSWORD" || variable == "HOLDFAST_JOB") return true;
  for (const std::string_view own : {"HOLDFAST_TOKEN", "HOLDFAST_NAME"}) {
    if (!variable.starts_with(own)) continue;
    const auto rest = variable.substr(own.size());
    const bool is_number = rest.size() > 1 && rest.find_first_not_of("0123456789", 1) == rest.npos;
    if (rest.empty() || (rest.front() == '_' && is_number)) return true;
  }
  return false;
}

/// By which the claims of a command are found to be in this one.
std::string job_of_this_process() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host.front() = '\0';
  return fmt::format("{} {}", host.data(), ::getpid());
}

}  // namespace

pointer_list::pointer_list(std::vector<std::string>& strings) {
  for (auto& each : strings) pointers_.push_back(each.data());
  pointers_.push_back(nullptr);
}

program::program(std::vector<std::string> arguments)
    : arguments_{std::move(arguments)}, path_{locate(arguments_.front())} {}

std::string program::name() const { return path_.substr(path_.find_last_of('/') + 1); }

std::string program::title(std::string_view subcommand) const {
  constexpr std::size_t longest = 256;
  auto title = fmt::format("holdfast {} ({})", subcommand, printable(name()));
  if (title.size() <= longest) return title;
  auto end = longest - 1;
  while ((static_cast<unsigned char>(title[end]) & 0xc0U) == 0x80U) --end;  // in the midst of a character
  return title.substr(0, end) + ')';
}

std::vector<std::string> environment_for(const hold& held) {
  constexpr std::string_view store = "HOLDFAST_STORE=";
  std::vector<std::string> variables;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view variable{*each};
    if (variable.starts_with(store)) {
      variables.push_back(fmt::format("{}{}", store, masked_url(variable.substr(store.size()))));
    } else if (!is_left_out(variable.substr(0, variable.find('=')))) {
      variables.emplace_back(variable);
    }
  }
  variables.push_back(fmt::format("HOLDFAST_JOB={}", job_of_this_process()));
  std::string suffix;
  int number = 1;
  for (const auto& [name, token] : held.tokens) {
    variables.push_back(fmt::format("HOLDFAST_TOKEN{}={}", suffix, token));
    variables.push_back(fmt::format("HOLDFAST_NAME{}={}", suffix, name));
    suffix = fmt::format("_{}", ++number);
  }
  return variables;
}

}  // namespace holdfast::cli
