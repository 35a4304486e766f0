// SPDX-License-Identifier: Apache-2.0
#include "run/process_group.hpp"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

namespace holdfast::cli {

namespace {

/// The process id that a folder of /proc has as its name; empty for the other folders.
std::optional<pid_t> pid_of(const std::string& folder) {
  pid_t pid = 0;
  const auto [end, problem] = std::from_chars(folder.data(), folder.data() + folder.size(), pid);
  if (problem != std::errc{} || end != folder.data() + folder.size()) return std::nullopt;
  return pid;
}

/// Whether a process is in the group and has not ended; false for one that is gone.
bool runs_in(pid_t group, pid_t pid) {
  std::ifstream file{"/proc/" + std::to_string(pid) + "/stat"};
  std::string text;
  std::getline(file, text, '\0');         // all of it; an iterator would throw if the process ended meanwhile
  const auto name_end = text.rfind(')');  // a program's name may contain any character
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return false;
  std::string_view rest{text};
  rest.remove_prefix(name_end + 2);
  const bool has_ended = rest.front() == 'Z' || rest.front() == 'X';
  // After the state the parent, then the group.
  rest.remove_prefix(rest.find(' ') + 1);
  rest.remove_prefix(rest.find(' ') + 1);
  pid_t group_of_process = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), group_of_process);
  return !has_ended && group_of_process == group;
}

}  // namespace

std::optional<group_member> other_member_of(pid_t group) {
  std::error_code unreadable;
  for (std::filesystem::directory_iterator each{"/proc", unreadable}, end; !unreadable && each != end;
       each.increment(unreadable)) {
    const auto pid = pid_of(each->path().filename().string());
    if (!pid || *pid == group || !runs_in(group, *pid)) continue;
    group_member found{*pid, descriptor{static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0))}};
    // It may have ended before, and the number may be another's by now.
    if (runs_in(group, *pid)) return found;
  }
  return std::nullopt;
}

}  // namespace holdfast::cli
