// SPDX-License-Identifier: Apache-2.0
#include "support/process_family.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

#include "support/scratch_folder.hpp"

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

constexpr auto wait_limit = 60s;  // far longer than it takes on a loaded machine

/// The kernel tells nobody but a parent.
void await(const std::function<bool()>& come, const std::string& message) {
  const auto deadline = std::chrono::steady_clock::now() + wait_limit;
  while (!come()) {
    if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error{message};
    std::this_thread::sleep_for(1ms);
  }
}

/// One that has ended meanwhile does, too.
bool stopped(::pid_t pid) {
  const std::string line = contents("/proc/" + std::to_string(pid) + "/stat");
  const auto name_end = line.rfind(')');  // "42 (any name) T 1 …"
  return name_end == std::string::npos || line.find_first_of("TtZX", name_end) == name_end + 2;
}

}  // namespace

process_family::process_family(const std::filesystem::path& folder)
    : folder_{std::filesystem::canonical(folder)} {}

std::vector<::pid_t> process_family::members() const {
  std::vector<::pid_t> result;
  for (const auto& each : std::filesystem::directory_iterator{"/proc"}) {
    const std::string name = each.path().filename().string();
    ::pid_t pid = 0;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (problem != std::errc{}) continue;
    std::error_code gone_or_not_ours;
    if (std::filesystem::read_symlink(each.path() / "cwd", gone_or_not_ours) == folder_)
      result.push_back(pid);
  }
  return result;
}

void process_family::send(int signal) const {
  for (const auto pid : members()) ::kill(pid, signal);
}

bool process_family::stands_still() const {
  const auto all = members();
  return std::all_of(all.begin(), all.end(), stopped);
}

void process_family::stop() const {
  // Twice: who was seen to stand may have started another before, which the first look passed over.
  const auto still = [&] {
    send(SIGSTOP);
    return stands_still() && stands_still();
  };
  await(still, "the processes in " + folder_.string() + " do not stand still");
}

void process_family::go_on() const { send(SIGCONT); }

void process_family::kill() const {
  stop();
  const auto gone = [&] {
    send(SIGKILL);
    return members().empty();
  };
  await(gone, "the processes in " + folder_.string() + " do not end");
}

}  // namespace holdfast::test
